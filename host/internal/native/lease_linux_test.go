package native

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// leased is a lease that has the time each left at every call. After the given number of
// calls it hangs, as a frozen server does.
type leased struct {
	each   time.Duration
	times  atomic.Int32
	hang   chan struct{}
	lapsed atomic.Bool
}

func (l *leased) Left() (time.Duration, bool) {
	if l.times.Add(-1) < 0 {
		<-l.hang
	}
	return l.each, l.each > 0
}

func (l *leased) Lapsed() { l.lapsed.Store(true) }

// abandons starts a process that leaves session and group, ignores SIGTERM, and prints
// its number. The command itself goes on.
const abandons = `/bin/sh -c 'setsid sh -c "trap \"\" TERM; echo \$\$ >&2; while :; do sleep 1000; done" & while :; do sleep 1000; done'`

// A supervisor ends a command and all processes that it started when its server no longer
// renews the lease, even if it never renewed it.
func TestLeaseLapses(t *testing.T) {
	t.Parallel()
	for name, times := range map[string]int32{"at once": 1, "later": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &leased{each: 3 * time.Second, hang: make(chan struct{})}
			l.times.Store(times)
			log, done := started(t, t.Context(), abandons, func(c *job.Call) {
				c.Lease = l
				c.Config.Allow.Env = map[string]string{"PATH": "/usr/bin:/bin"}
			})
			text := <-log
			pid, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(text)
			}
			gone(pid) // while the server hangs
			select {
			case out := <-done:
				t.Errorf("the server did not hang: %+v", out)
			default:
			}
			close(l.hang)
			if out := <-done; out.Verdict != job.Stopped || !strings.Contains(out.Error, "did not confirm in time") || !l.lapsed.Load() {
				t.Errorf("got %+v, lapsed %v", out, l.lapsed.Load())
			}
		})
	}
}

// A command with a lease that is renewed in time, or without limit, goes on. A command
// whose lease lapsed before it began does not.
func TestLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	const counts = `/bin/sh -c 'i=0; while [ $i -lt 400 ]; do sleep 0.01; i=$((i+1)); done; echo through'`
	for name, tt := range map[string]struct {
		each    time.Duration
		verdict job.Verdict
	}{"in time": {3 * time.Second, job.OK}, "not bounded": {0, job.OK}, "over before": {time.Nanosecond, job.Stopped}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &leased{each: tt.each}
			l.times.Store(1 << 30)
			k, c := call(t, counts)
			c.Lease = l
			c.Config.Allow.Env = map[string]string{"PATH": "/usr/bin:/bin"}
			if out := k.Run(t.Context(), c); out.Verdict != tt.verdict || l.lapsed.Load() != (tt.verdict == job.Stopped) {
				t.Errorf("got %+v, lapsed %v", out, l.lapsed.Load())
			}
		})
	}
}
