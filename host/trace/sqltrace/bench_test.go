package sqltrace_test

import (
	"path/filepath"
	"testing"

	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

func BenchmarkWrite1000(b *testing.B) {
	loc := sqltrace.File(filepath.Join(b.TempDir(), "history.db"))
	s, err := sqltrace.Open(b.Context(), loc)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	instant := int64(0)
	for b.Loop() {
		instant++
		rows := make([]trace.Row, 0, 1000)
		for i := range 1000 {
			rows = append(rows, run("j", i, instant))
		}
		if err := s.Write(b.Context(), rows); err != nil {
			b.Fatal(err)
		}
	}
}
