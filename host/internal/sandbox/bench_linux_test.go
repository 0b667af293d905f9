package sandbox

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

// resident returns the resident memory of the process in MiB.
func resident(b *testing.B) float64 {
	stat, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(stat))[1])
	if err != nil {
		b.Fatal(err)
	}
	return float64(pages*os.Getpagesize()) / (1 << 20)
}

// BenchmarkResident runs 100,000 fresh instances, each of which writes to all of its 64
// KiB of memory. The peak memory of the process during the last tenth of them must equal
// that during the first, apart from fluctuations of the garbage collector.
func BenchmarkResident(b *testing.B) {
	e := benchEngine(b, Options{})
	m := benchLoad(b, e, (&builder{}).job(i32(0), i32(7), i32(pageSize), op(0xfc, 11, 0), i32(0)))
	tenth := iterations(10_000)
	most := func() (mib float64) {
		for i := range tenth {
			if out := e.Run(b.Context(), m, job.Call{}); out.Verdict != job.OK {
				b.Fatal(out.Error)
			}
			if i%50 == 0 {
				mib = max(mib, resident(b))
			}
		}
		return mib
	}
	var first, last float64
	for b.Loop() {
		first = most()
		for range 9 {
			last = most()
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(first, "MiB_first_10000")
	b.ReportMetric(last, "MiB_last_10000")
	b.ReportMetric(last-first, "MiB_growth<=4")
}
