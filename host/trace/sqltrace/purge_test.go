package sqltrace_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

func openForFuzz(f *testing.F) *sqltrace.Store {
	f.Helper()
	loc := sqltrace.File(filepath.Join(f.TempDir(), "history.db"))
	s, err := sqltrace.Open(f.Context(), loc)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	return s
}

func TestPurge(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1000)
	tests := []struct {
		name string
		keep sqltrace.Retention
		want int // of 1300 rows of a and 4 of b
	}{
		{"nothing asked", sqltrace.Retention{}, 1304},
		{"by age", sqltrace.Retention{Age: 100 * time.Millisecond, Now: now}, 400 + 2},
		{"by number", sqltrace.Retention{PerJob: 10}, 10 + 4},
		{"by both", sqltrace.Retention{Age: 100 * time.Millisecond, PerJob: 30, Now: now}, 30 + 2},
		{"one job", sqltrace.Retention{PerJob: 1, Job: "b"}, 1300 + 1},
		{"more than there are", sqltrace.Retention{PerJob: 5000}, 1304},
		{"by bytes", sqltrace.Retention{Bytes: 100 * 347}, 101},
		{"by bytes, in several reads", sqltrace.Retention{Bytes: 300*347 + 800*340}, 1100},
		{"by bytes that all have", sqltrace.Retention{Bytes: 1 << 40}, 1304},
		{"by bytes and age", sqltrace.Retention{Bytes: 1 << 40, Age: 100 * time.Millisecond, Now: now}, 400 + 2},
		{"by bytes of what stays", sqltrace.Retention{Bytes: 10*347 + 339, PerJob: 10}, 10 + 1},
		{"by bytes of one job", sqltrace.Retention{Bytes: 1, Job: "b"}, 1300 + 1},
		{"all", sqltrace.Retention{Age: time.Millisecond, Now: now.Add(time.Hour)}, 0},
	}
	var rows []trace.Row
	for i := range int64(1300) {
		rows = append(rows, run("a", 0, i))
	}
	// The second gap extends beyond the cutoff, so it stays.
	rows = append(rows, run("b", 0, 700), gap("b", 0, 710, 800, 10), gap("b", 0, 810, 905, 10), run("b", 0, 910))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, loc sqltrace.Location) {
				s := open(t, loc)
				write(t, s, rows...)
				count, err := s.Expired(t.Context(), tt.keep)
				if err != nil {
					t.Fatal(err)
				}
				gone, err := s.Purge(t.Context(), tt.keep)
				if err != nil {
					t.Fatal(err)
				}
				left := all(t, s.Reader, sqltrace.Filter{Limit: 1000})
				if len(left) != tt.want || gone != int64(1304-tt.want) || count != gone {
					t.Errorf("%d left, %d gone, %d foretold; want %d left", len(left), gone, count, tt.want)
				}
				oldest := int64(0)
				for _, r := range slices.Backward(left) {
					if r.Instant < oldest {
						t.Errorf("row %s is out of order", r.Run)
					}
					oldest = r.Instant
				}
			})
		})
	}
}

func TestPurgeKeepsAttemptsTogether(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		var rows []trace.Row
		for n := 1; n <= 4; n++ {
			for instant := range int64(3) {
				r := run("j", 0, instant)
				r.Attempt = n
				rows = append(rows, r)
			}
		}
		write(t, s, rows...)
		gone, err := s.Purge(t.Context(), sqltrace.Retention{PerJob: 6})
		if err != nil || gone != 4 {
			t.Errorf("%d gone, %v; want the 4 attempts of the oldest run", gone, err)
		}
		gone, err = s.Purge(t.Context(), sqltrace.Retention{Bytes: 1})
		if err != nil || gone != 4 {
			t.Errorf("%d gone, %v; want the 4 attempts of the run before the newest", gone, err)
		}
	})
}

func TestPurgeRefusesNonsense(t *testing.T) {
	t.Parallel()
	s := open(t, locate(t))
	for _, keep := range []sqltrace.Retention{{Age: -1}, {PerJob: -1}, {Bytes: -1}} {
		if _, err := s.Purge(t.Context(), keep); err == nil {
			t.Errorf("%+v: no error", keep)
		}
	}
}
