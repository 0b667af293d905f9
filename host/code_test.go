package host

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/native/nativetest"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/trace"
)

// toRows is a sink that sends rows to a channel.
type toRows chan trace.Row

func (c toRows) Write(_ context.Context, batch []trace.Row) error {
	for _, r := range batch {
		c <- r
	}
	return nil
}

func TestACallHasWhatTheJobIsGranted(t *testing.T) {
	t.Parallel()
	calls := make(chan job.Call, 2)
	run := Func(func(_ context.Context, c job.Call) job.Outcome {
		calls <- c
		return job.Outcome{Verdict: job.OK}
	})
	h, stop := start(t, Options{
		Namespace: "n", Runner: run, Secrets: map[string]string{"a": "1", "b": "2"},
		Jobs: []job.Config{
			{Name: "much", Shards: 1, Allow: job.Allow{Secrets: []string{"b"}, HTTP: []string{"https://example.org/x"}}},
			{Name: "none", Shards: 1},
		},
	})
	<-h.Ready()
	for _, name := range []string{"much", "none"} {
		if err := h.Trigger(t.Context(), name); err != nil {
			t.Error(err)
		}
		c := <-calls
		want := map[string]string{}
		if name == "much" {
			want["b"] = "2"
		}
		if d := cmp.Diff(want, c.Secrets); d != "" || c.Namespace != "n" || (c.HTTP != nil) != (name == "much") {
			t.Errorf("%s: namespace %q, http %v, secrets %s", name, c.Namespace, c.HTTP, d)
		}
		if c.HTTP == nil {
			continue
		}
		if _, err := c.HTTP.Do(t.Context(), job.HTTPRequest{Method: "GET", URL: "https://example.com/x"}); !errors.Is(err, job.ErrDenied) {
			t.Errorf("what is not granted: %v", err)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestAJobMayBeACommand(t *testing.T) {
	t.Parallel()
	rows := make(toRows, 2)
	h, stop := start(t, Options{
		DataDir: t.TempDir(), NativeScripts: true, Supervisor: nativetest.CommandLine(t), Sinks: []trace.Sink{rows},
		Jobs: []job.Config{{
			Name: "j", Kind: job.Script, Shards: 2, ItemParams: "0=a,1=b", Command: `/bin/sh -c 'echo "$WASMJOB_ITEM $1"; exit $WASMJOB_ITEM' sh`,
		}},
	})
	<-h.Ready()
	if err := h.Trigger(t.Context(), "j"); err != nil {
		t.Error(err)
	}
	for range 2 {
		r := <-rows
		switch {
		case r.Item == 0 && r.State == trace.Succeeded && strings.HasPrefix(r.Result, `0 {"jobName":"j",`) && strings.Contains(r.Result, `"shardingParameter":"a"`):
		case r.Item == 1 && r.State == trace.Failed && r.Error == "the command ended with exit code 1":
		default:
			t.Errorf("row %+v", r)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestCodeThatIsNotThere(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		o    Options
		want string
	}{
		"command": {Options{DataDir: "d", Jobs: []job.Config{{Name: "j", Kind: job.Script, Shards: 1, Command: "echo"}}},
			"command: commands of the operating system are not allowed; set NativeScripts"},
		"supervisor": {Options{DataDir: "d", NativeScripts: true, Jobs: []job.Config{{Name: "j", Kind: job.Script, Shards: 1, Command: "echo"}}},
			"command: nothing would end the processes that it starts; set Supervisor"},
		"strategy": {Options{Runner: Func(fine), Jobs: []job.Config{{Name: "j", Shards: 1, StrategyModule: "m"}}, Modules: map[string]Module{"m": {}}},
			`strategy module: there is no module "m"`},
		"secret": {Options{Runner: Func(fine), Jobs: []job.Config{{Name: "j", Shards: 1, Allow: job.Allow{Secrets: []string{"s"}}}}},
			`secrets: there is no secret "s"`},
		"http": {Options{Runner: Func(fine), Jobs: []job.Config{{Name: "j", Shards: 1, Allow: job.Allow{HTTP: []string{"example.org"}}}}},
			"http: grant \"example.org\": it has no scheme"},
		"private": {Options{PrivateHosts: []string{"10.0.0.1"}}, "private hosts: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := New(tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// slowStart is a Runner that takes long to prepare the first job.
type slowStart struct {
	Func
	begun atomic.Bool
	done  chan struct{}
}

// Listens implements Listener.
func (r *slowStart) Listens() (started, completed bool) {
	if !r.begun.Swap(true) {
		<-r.done
	}
	return false, false
}

// A module that takes long to compile delays only its own job.
func TestOneModuleTakesLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slowStart{Func: fine, done: make(chan struct{})}
		h, stop := start(t, Options{Runner: r, Jobs: []job.Config{{Name: "a", Shards: 1}, {Name: "b", Shards: 1}}})
		synctest.Wait()
		slow, quick := "a", "b"
		s := h.Jobs()
		if len(s[0].Troubles) == 0 {
			slow, quick = quick, slow
			slices.Reverse(s)
		}
		if len(s[0].Troubles) != 1 || len(s[1].Troubles) != 0 {
			t.Errorf("troubles: %q, %q", s[0].Troubles, s[1].Troubles)
		}
		if err := h.Trigger(t.Context(), quick); err != nil {
			t.Error(err)
		}
		if err := h.Trigger(t.Context(), slow); err == nil || !strings.Contains(err.Error(), "is being compiled") {
			t.Errorf("triggered before its code is ready: %v", err)
		}
		select {
		case <-h.Ready():
			t.Error("ready without one of its jobs")
		default:
		}
		close(r.done)
		<-h.Ready()
		if err := h.Trigger(t.Context(), slow); err != nil {
			t.Error(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A server that cannot open its address for modules ends before it loads any. One whose jobs
// cannot run gives the address back.
func TestAddressForModulesIsOpenedFirst(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, loading := taken.Addr().String(), 0
	run := func() error {
		h, err := New(Options{
			DataDir: t.TempDir(), Peers: Peers{Listen: address}, Jobs: []job.Config{{Name: "j", Module: "m", Shards: 1}},
			Modules: map[string]Module{"m": {Artifact: "registry.example/m:1"}},
			Pull: func(context.Context, string) (Artifact, error) {
				loading++
				return Artifact{}, errors.New("no such artifact")
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return h.Run(t.Context())
	}
	wantCode(t, "the address is taken", run(), Refused)
	if loading > 0 {
		t.Error("modules were loaded first")
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "no job can run", run(), Invalid)
	if loading == 0 {
		t.Error("no module was loaded")
	}
	again, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
