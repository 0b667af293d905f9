package queue

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOrder(t *testing.T) {
	t.Parallel()
	q := New(nil, nil)
	var got []int
	for i := range 1000 {
		q.Put(0, func() { got = append(got, i) })
	}
	if !q.Flush(time.Minute) || len(got) != 1000 {
		t.Fatalf("%d of 1000 were done", len(got))
	}
	for i, n := range got {
		if i != n {
			t.Fatalf("%d was done in the place of %d", n, i)
		}
	}
}

// Put never waits. Dropped entries are counted at the place where they are missing, and
// the queue accepts more as soon as it has space.
func TestNobodyWaitsForWhatBlocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 1000
		block, began := make(chan struct{}), time.Now()
		var got []string
		full := 0
		q := New(func() { full++ }, func(n int64) { got = append(got, fmt.Sprint("lost ", n)) })
		q.Put(size, func() { <-block })
		synctest.Wait()
		time.Sleep(time.Second)
		fits := room/(size+overhead) - 1
		for i := range fits + 7 {
			q.Put(size, func() { got = append(got, fmt.Sprint(i)) })
		}
		if n, since := q.Stuck(); n != 7 || full != 1 || !since.Equal(began) {
			t.Errorf("%d dropped since %v, said %d times", n, since, full)
		}
		if q.Flush(time.Second) {
			t.Error("all is done that cannot be")
		}
		close(block)
		synctest.Wait()
		q.Put(2*room, func() { got = append(got, "large") })
		if !q.Flush(time.Second) {
			t.Fatal("it does not go on")
		}
		if n, _ := q.Stuck(); n != 0 || len(got) != fits+2 || got[fits-1] != fmt.Sprint(fits-1) || got[fits] != "lost 7" || got[fits+1] != "large" {
			t.Errorf("%d dropped; %d done, at last %q", n, len(got), got[max(0, len(got)-3):])
		}
	})
}

// gated is a writer that blocks until it is opened.
type gated struct {
	bytes.Buffer
	open chan struct{}
}

func (g *gated) Write(p []byte) (int, error) {
	<-g.open
	return g.Buffer.Write(p)
}

func TestHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &gated{open: make(chan struct{})}
		h := NewHandler(slog.NewTextHandler(to, nil))
		log := slog.New(h)
		log.With("job", "a").WithGroup("g").Warn("first", "error", errLong)
		if _, err := h.Writer(to).Write([]byte("between\n")); err != nil {
			t.Error(err)
		}
		log.Debug("not wanted")
		for range 5 {
			log.Info("many", "text", strings.Repeat("x", room/4))
		}
		close(to.open)
		if !h.Flush(time.Second) {
			t.Error("not done")
		}
		lines := strings.Split(to.String(), "\n")
		if len(lines) != 7 || !strings.Contains(lines[0], `msg=first job=a g.error=long`) || lines[1] != "between" || !strings.Contains(lines[5], "lines=2") {
			t.Errorf("%d lines, the first %.200s", len(lines), to.String())
		}
	})
}

var errLong = fmt.Errorf("long")

// A caller may change logged values later, and they may panic when formatted. The line
// shows the values as they were logged, and no goroutine ends.
func TestValuesAreKeptAsTheyAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &gated{open: make(chan struct{})}
		h := NewHandler(slog.NewJSONHandler(to, nil))
		log := slog.New(h)
		counts, names := map[string]int{"a": 1}, []string{"x"}
		var none *url.Error
		log.With("names", names).Info("values", "counts", counts, slog.Group("in", "counts", counts), "error", error(none), "wait", time.Second)
		counts["a"], names[0] = 2, "y"
		close(to.open)
		if !h.Flush(time.Second) {
			t.Error("not done")
		}
		_, got, _ := strings.Cut(to.String(), `"values",`)
		if want := `"names":["x"],"counts":{"a":1},"in":{"counts":{"a":1}},"error":"<nil>","wait":1000000000}` + "\n"; got != want {
			t.Errorf("got %s", got)
		}
	})
}

// A closed queue calls nothing.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		block, done := make(chan struct{}), 0
		q := New(nil, nil)
		for range 3 {
			q.Put(1, func() { <-block; done++ })
		}
		synctest.Wait()
		if n := q.Close(); n != 2 {
			t.Errorf("%d dropped, want 2", n)
		}
		q.Put(1, func() { done++ })
		close(block)
		if !q.Flush(time.Second) || done != 1 {
			t.Errorf("%d were done", done)
		}
	})
}
