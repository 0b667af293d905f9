package schedule

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/cronexpr"
	"github.com/robfig/cron/v3"
)

// rival is one schedule as three libraries spell it; an empty spelling means
// that the library cannot express it.
type rival struct {
	name                   string
	ours, robfig, cronexpr string
}

var rivals = []rival{
	{"every5s", "*/5 * * * * ?", "*/5 * * * * *", "*/5 * * * * * *"},
	{"officehours", "0 0/15 9-17 ? * MON-FRI", "0 0/15 9-17 ? * MON-FRI", "0 0/15 9-17 ? * MON-FRI *"},
	{"daily", "0 30 4 * * ?", "0 30 4 * * *", "0 30 4 * * * *"},
	{"leapday", "0 0 0 29 2 ?", "0 0 0 29 2 *", "0 0 0 29 2 ? *"},
	{"lastworkday", "0 0 9 LW * ?", "", "0 0 9 LW * ? *"},
	{"thirdfriday", "0 0 9 ? * 6#3", "", "0 0 9 ? * 5#3 *"},
}

type contender struct {
	name string
	next func(time.Time) time.Time
}

// contenders parses one rival with every library that can, ours first.
func (r rival) contenders(b *testing.B, loc *time.Location) []contender {
	b.Helper()
	ours, err := Parse(r.ours, loc)
	if err != nil {
		b.Fatal(err)
	}
	cs := []contender{{"ours", ours.Next}}
	if r.robfig != "" {
		parser := cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
		s, err := parser.Parse(r.robfig)
		if err != nil {
			b.Fatal(err)
		}
		s.(*cron.SpecSchedule).Location = loc
		cs = append(cs, contender{"robfig", s.Next})
	}
	if r.cronexpr != "" {
		cs = append(cs, contender{"cronexpr", cronexpr.MustParse(r.cronexpr).Next})
	}
	return cs
}

// consecutive makes n calls, each from the instant before, and starts over before the
// rarest schedule has no more instants.
func consecutive(next func(time.Time) time.Time, from time.Time, n int) {
	at := from
	for range n {
		if at = next(at); at.IsZero() || at.Year() > 2090 {
			at = from
		}
	}
}

func newYork(b *testing.B) (*time.Location, time.Time) {
	b.Helper()
	loc, err := LoadLocation("America/New_York")
	if err != nil {
		b.Fatal(err)
	}
	return loc, time.Date(2026, 1, 5, 8, 0, 0, 0, loc)
}

func BenchmarkNext(b *testing.B) {
	loc, from := newYork(b)
	for _, r := range rivals {
		for _, c := range r.contenders(b, loc) {
			b.Run(r.name+"/"+c.name, func(b *testing.B) {
				b.ReportAllocs()
				at := from
				for b.Loop() {
					if at = c.next(at); at.IsZero() || at.Year() > 2090 {
						at = from
					}
				}
			})
		}
	}
}

// BenchmarkNextRatio measures the libraries in turns, so that other load of the machine
// affects all of them, and reports by how many times ours is faster (median of the
// repetitions).
func BenchmarkNextRatio(b *testing.B) {
	const repetitions, calls = 41, 500
	loc, from := newYork(b)
	for _, r := range rivals {
		cs := r.contenders(b, loc)
		b.Run(r.name, func(b *testing.B) {
			for b.Loop() {
				ratios := make([][]float64, len(cs))
				for range repetitions {
					var ours time.Duration
					for i, c := range cs {
						start := time.Now()
						consecutive(c.next, from, calls)
						took := time.Since(start)
						if i == 0 {
							ours = took
						}
						ratios[i] = append(ratios[i], float64(took)/float64(ours))
					}
				}
				for i, c := range cs[1:] {
					b.ReportMetric(quantile(ratios[i+1], 0.5), "x_"+c.name)
				}
			}
		})
	}
}

func quantile[T cmp.Ordered](values []T, q float64) T {
	slices.Sort(values)
	return values[int(q*float64(len(values)-1))]
}

// lateness collects how long after its whole second each callback began.
type lateness struct {
	at   []int64
	n    atomic.Int64
	done chan struct{}
}

func newLateness(samples int) *lateness {
	return &lateness{at: make([]int64, samples), done: make(chan struct{})}
}

// record adds one sample, unless there are enough.
func (l *lateness) record(d time.Duration) {
	n := int(l.n.Add(1))
	if n > len(l.at) {
		return
	}
	l.at[n-1] = int64(d)
	if n == len(l.at) {
		close(l.done)
	}
}

// BenchmarkLateness runs robfig's runner and the Ticker in turns, each with
// the same number of entries that are all due every second, and reports the
// medians of the repetitions.
func BenchmarkLateness(b *testing.B) {
	const repetitions, seconds = 3, 2
	for _, jobs := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(jobs), func(b *testing.B) {
			metrics := map[string][]float64{}
			for b.Loop() {
				for range repetitions {
					theirs := robfigRound(b, jobs, seconds)
					ours := tickerRound(b, jobs, seconds)
					for name, q := range map[string]float64{"p50": 0.5, "p99": 0.99} {
						t, o := float64(quantile(theirs, q)), float64(quantile(ours, q))
						metrics["robfig_ms_"+name] = append(metrics["robfig_ms_"+name], t/1e6)
						metrics["ours_ms_"+name] = append(metrics["ours_ms_"+name], o/1e6)
						metrics["x_"+name] = append(metrics["x_"+name], t/o)
					}
				}
			}
			for name, values := range metrics {
				b.ReportMetric(quantile(values, 0.5), name)
			}
			b.ReportMetric(0, "ns/op") // the waiting time is not a result
		})
	}
}

func robfigRound(b *testing.B, jobs, seconds int) []int64 {
	b.Helper()
	c := cron.New(cron.WithSeconds(), cron.WithLocation(time.UTC))
	l := newLateness(jobs * seconds)
	for range jobs {
		if _, err := c.AddFunc("* * * * * *", func() {
			now := time.Now()
			l.record(now.Sub(now.Truncate(time.Second)))
		}); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC() // garbage of the setup, and of the other's repetition
	c.Start()
	<-l.done
	<-c.Stop().Done()
	return l.at
}

func tickerRound(b *testing.B, jobs, seconds int) []int64 {
	b.Helper()
	t := NewTicker(4)
	l := newLateness(jobs * seconds)
	from := time.Now()
	for i := range jobs {
		s, err := Parse("* * * * * ?", time.UTC)
		if err != nil {
			b.Fatal(err)
		}
		t.Set(fmt.Sprint(i), s, from, func(k Tick) { l.record(time.Since(k.At)) })
	}
	runtime.GC()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- t.Run(ctx) }()
	<-l.done
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	return l.at
}
