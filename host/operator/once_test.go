package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// onceStage is a running job "j" of one item, and "k", on a registry in memory.
func onceStage(t *testing.T) (registry.Registry, *pile) {
	t.Helper()
	reg, rows := embedded.Memory(), &pile{}
	h, stop := start(t, host.Options{
		Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Jobs: []job.Config{{Name: "j", Shards: 1}, {Name: "k", Shards: 1}},
		Runner: host.Func(fine), Sinks: []trace.Sink{rows},
	})
	<-h.Ready()
	synctest.Wait() // the items have an owner
	t.Cleanup(func() {
		if err := errors.Join(stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
	return reg, rows
}

// A key triggers once within a day, through any operator.
func TestKeyTriggersOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := onceStage(t)
		one, other := operate(t, reg), operate(t, reg)
		began := time.Now()
		for _, step := range []struct {
			what  string
			by    *Operator
			after time.Duration
			key   string
			again bool
			runs  int
		}{
			{"first", one, time.Minute, "a", false, 1},
			{"again", one, time.Minute, "a", true, 1},
			{"on another server", other, time.Hour, "a", true, 1},
			{"another key", other, 0, "b", false, 2},
			{"just within the day", other, 24*time.Hour - 2*time.Minute - time.Hour, "a", true, 2},
			{"a day later", one, 2 * time.Minute, "a", false, 3},
		} {
			time.Sleep(step.after)
			got, err := step.by.TriggerOnce(t.Context(), "j", step.key)
			if err != nil || got.Again != step.again || got.At.Before(began) || got.At.After(time.Now()) {
				t.Errorf("%s: %+v, %v", step.what, got, err)
			}
			time.Sleep(time.Second)
			if n := rows.count("j", trace.Succeeded); n != step.runs {
				t.Errorf("%s: %d runs, want %d", step.what, n, step.runs)
			}
		}
		_, err := one.TriggerOnce(t.Context(), "k", "a")
		wantCode(t, "for another job", err, host.Refused)
		for _, key := range []string{"", "a\n", "é", "\x1b[2J", strings.Repeat("x", maxKey+1)} {
			_, err := one.TriggerOnce(t.Context(), "j", key)
			wantCode(t, key, err, host.Invalid)
		}
		_, err = one.TriggerOnce(t.Context(), "none", "c")
		wantCode(t, "no such job", err, host.NotFound)
		put(t, one, registry.Set, one.tree.Keys("ca"), "{}") // where the key "a" is stored
		_, err = one.TriggerOnce(t.Context(), "j", "a")
		wantCode(t, "damaged keys", err, host.Refused)
		if got := audited(t, one, AuditFilter{Verb: "job trigger"}); len(got) != 3 {
			t.Errorf("audit: %v", got)
		}
	})
}

// A key does not affect requests of another verb or caller. Keys of triggers that an older
// release wrote count.
func TestKeyOfVerbAndCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, _ := onceStage(t)
		ann, ben := operate(t, reg), operate(t, reg)
		ann.As(Author{Name: "ann", Way: ByToken})
		ben.As(Author{Name: "ben", Way: ByToken})
		trigger := func(by *Operator, key string, again bool) {
			t.Helper()
			if got, err := by.TriggerOnce(t.Context(), "j", key); err != nil || got.Again != again {
				t.Errorf("%s by %s: %+v, %v; want again %v", key, by.author.Name, got, err, again)
			}
		}
		presents := func(what verb, key string) bool {
			t.Helper()
			use, err := newOnce(what, key)
			if err == nil {
				_, err = use.ops(t.Context(), ann, "j")
			}
			if err != nil {
				t.Fatal(err)
			}
			return use.again
		}
		trigger(ann, "a", false)
		trigger(ben, "a", false)
		trigger(ann, "a", true)
		if !presents(verbTrigger, "a") || presents(verbBackfill, "a") {
			t.Error("a backfill is taken for the trigger with its key")
		}
		old := clustertree.Keys{All: []clustertree.KeyUsed{{Key: clustertree.KeyOf("old"), Job: "j", At: time.Now().UnixMilli(), By: clustertree.CallerOf("ann")}}}
		put(t, ann, registry.Create, ann.tree.Keys(clustertree.KeyOf("old")), string(old.Encode()))
		trigger(ann, "old", true)
	})
}

// If many clients send one key at the same time, one of them triggers.
func TestKeyOfManyClients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := onceStage(t)
		var all sync.WaitGroup
		var mu sync.Mutex
		first := 0
		for range 10 {
			o := operate(t, reg)
			all.Go(func() {
				got, err := o.TriggerOnce(t.Context(), "j", "a")
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if !got.Again {
					first++
				}
			})
		}
		all.Wait()
		time.Sleep(time.Minute)
		if n := rows.count("j", trace.Succeeded); n != 1 || first != 1 {
			t.Errorf("%d runs, %d first", n, first)
		}
	})
}

// A caller that has used up its keys leaves room for others.
func TestKeysOfOneCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, _ := onceStage(t)
		greedy, other := operate(t, reg), operate(t, reg)
		greedy.As(Author{Name: "greedy", Way: ByToken})
		other.As(Author{Name: "other", Way: ByToken})
		node := func(key string) string { return greedy.tree.Keys(clustertree.KeyOf(key)) }
		own := func(i int) string { return fmt.Sprint("key ", i) }
		var same []string // keys of one node
		for i := 0; len(same) < clustertree.MaxKeysOf+2; i++ {
			if node(own(i)) == node(own(0)) {
				same = append(same, own(i))
			}
		}
		last := same[clustertree.MaxKeysOf:]
		for _, key := range same[:clustertree.MaxKeysOf] {
			if _, err := greedy.TriggerOnce(t.Context(), "j", key); err != nil {
				t.Fatal(err)
			}
		}
		_, err := greedy.TriggerOnce(t.Context(), "j", last[0])
		wantCode(t, "one more key", err, host.Refused)
		if got, err := greedy.TriggerOnce(t.Context(), "j", same[0]); err != nil || !got.Again {
			t.Errorf("a key of before: %+v, %v", got, err)
		}
		if got, err := other.TriggerOnce(t.Context(), "j", last[1]); err != nil || got.Again {
			t.Errorf("a key of another caller: %+v, %v", got, err)
		}
	})
}

// overtaken is a session whose first transaction with a key comes after another one with that key.
type overtaken struct {
	registry.Session
	by func()
}

// Commit implements registry.Session.
func (s *overtaken) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if len(ops) > 2 && s.by != nil {
		by := s.by
		s.by = nil
		by()
	}
	return s.Session.Commit(ctx, ops...)
}

// A client that is overtaken in the same millisecond learns that the key was used before.
func TestKeyThatAnotherUsesAtTheSameTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := onceStage(t)
		o, other := operate(t, reg), operate(t, reg)
		var first Triggered
		o.session = &overtaken{o.session, func() {
			var err error
			if first, err = other.TriggerOnce(t.Context(), "j", "a"); err != nil {
				t.Error(err)
			}
		}}
		got, err := o.TriggerOnce(t.Context(), "j", "a")
		time.Sleep(time.Minute)
		if n := rows.count("j", trace.Succeeded); n != 1 || err != nil || !got.Again || first.Again || !got.At.Equal(first.At) {
			t.Errorf("%d runs, %+v and %+v, %v", n, first, got, err)
		}
	})
}

// forgetful is a session whose first large transaction is applied without an answer.
type forgetful struct {
	registry.Session
	least int // operations of a large transaction
	done  bool
}

// Commit implements registry.Session.
func (s *forgetful) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	r, err := s.Session.Commit(ctx, ops...)
	if err == nil && len(ops) >= s.least && !s.done {
		s.done = true
		return registry.Receipt{}, fmt.Errorf("%w: as the test wants it", registry.ErrUnknown)
	}
	return r, err
}

// If the answer to a trigger with a key is lost, its outcome is settled, and it does not trigger
// again.
func TestKeyWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := onceStage(t)
		o := operate(t, reg)
		o.session = &forgetful{Session: o.session, least: 3}
		got, err := o.TriggerOnce(t.Context(), "j", "a")
		time.Sleep(time.Minute)
		if n := rows.count("j", trace.Succeeded); n != 1 || err != nil || got.Again || !o.session.(*forgetful).done {
			t.Errorf("%d runs, %+v, %v", n, got, err)
		}
	})
}
