package supply

import (
	"context"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

// never refuses nothing.
func never(job.Config, *job.Config) error { return nil }

// fine is a Runner whose runs succeed.
type fine struct{}

func (fine) Run(context.Context, job.Call) job.Outcome { return job.Outcome{Verdict: job.OK} }

// counted is a worker that counts its calls.
type counted struct{ released, acquired int }

func (w *counted) Release()                      { w.released++ }
func (w *counted) Acquire(context.Context) error { w.acquired++; return nil }
func (w *counted) Fork() job.Worker              { return w }

func TestRunThatWaitsForItsModuleHasNoWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(Options{Runner: fine{}, Refuse: never})
		if err != nil {
			t.Fatal(err)
		}
		c, w := s.NewCode(nil), &counted{}
		c.preparing <- struct{}{} // another caller loads it
		done := make(chan job.Outcome)
		go func() { done <- c.Run(t.Context(), job.Call{Worker: w}) }()
		synctest.Wait()
		if w.released != 1 || w.acquired != 0 {
			t.Errorf("released %d times, acquired %d times while it waits", w.released, w.acquired)
		}
		<-c.preparing
		if out := <-done; out.Verdict != job.OK || w.acquired != 1 {
			t.Errorf("%s (%s), acquired %d times", out.Verdict, out.Error, w.acquired)
		}
		if c.Run(t.Context(), job.Call{Worker: w}); w.released != 1 {
			t.Error("the code was ready, and the run released its worker")
		}
		c.Close()
	})
}

// Every field of a key matters, including fields that are added later.
func TestKeysDiffer(t *testing.T) {
	t.Parallel()
	full := func() key {
		return key{
			job.Script, "module", "digest", "command", "strategy", "its digest", job.Allow{
				Dirs: []job.Dir{{Host: "/d"}}, Env: map[string]string{"a": "b"}, Clock: "real", Random: true, State: true,
				Secrets: []string{"s"}, HTTP: []string{"https://example.org"},
			},
		}
	}
	same, of := full(), full()
	if !of.equal(&same) {
		t.Error("it differs from the same")
	}
	differs := func(name string, field func(*key) reflect.Value) {
		other := full()
		f := field(&other)
		if f.IsZero() {
			t.Fatalf("give %s a value in this test", name)
		}
		f.SetZero()
		if of.equal(&other) {
			t.Errorf("%s makes no difference", name)
		}
	}
	for i := range reflect.TypeFor[key]().NumField() - 1 {
		differs(reflect.TypeFor[key]().Field(i).Name, func(k *key) reflect.Value { return reflect.ValueOf(k).Elem().Field(i) })
	}
	for i := range reflect.TypeFor[job.Allow]().NumField() {
		differs(reflect.TypeFor[job.Allow]().Field(i).Name, func(k *key) reflect.Value { return reflect.ValueOf(&k.Allow).Elem().Field(i) })
	}
}

// smallest is a module that does nothing.
const smallest = "0061736d010000000108026000006000017f03030200010503010001072d030e7761736d6a6f625f6162695f763100000f7761736d6a6f625f657865637574650001066d656d6f727902000a0d020401007f0b0601047f41000b"

// A module listens if it exports the listener.
func TestModulesThatListen(t *testing.T) {
	t.Parallel()
	listening := strings.Replace(smallest, "072d03", "073f04"+"0f"+hex.EncodeToString([]byte("wasmjob_started"))+"0001", 1)
	for text, want := range map[string]bool{smallest: false, listening: true} {
		wasm, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		e, err := sandbox.New(sandbox.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := e.Load(t.Context(), wasm)
		if err != nil {
			t.Fatal(err)
		}
		started, completed := granted{guests: moduleGuests{e, m}}.Listens()
		if started != want || completed {
			t.Errorf("it listens: %v, %v; want %v", started, completed, want)
		}
		m.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
