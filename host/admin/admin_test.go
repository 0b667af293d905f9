package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a running host with its socket.
type server struct {
	host     *host.Host
	registry registry.Registry
	data     string
	ran      chan string // jobs, as their items run
	client   *Client
	stop     func() // stops host and socket; it may be called twice
}

func (s *server) operate(ctx context.Context) (*operator.Operator, error) {
	return operator.Open(ctx, s.registry, "wasmjobd")
}

// start runs triggered jobs until the test ends.
func start(t testing.TB, names ...string) *server {
	t.Helper()
	s := &server{registry: embedded.Memory(), data: t.TempDir(), ran: make(chan string, 100)}
	var jobs []job.Config
	for _, name := range names {
		jobs = append(jobs, job.Config{Name: name, Shards: 1, Description: "of " + name})
	}
	h, err := host.New(host.Options{Registry: s.registry, Jobs: jobs, Runner: host.Func(func(_ context.Context, c job.Call) job.Outcome {
		s.ran <- c.Config.Name
		return job.Outcome{Verdict: job.OK}
	})})
	if err != nil {
		t.Fatal(err)
	}
	s.host = h
	socket, err := Listen(t.Context(), s.data)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := h.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() {
		if err := Serve(ctx, socket, NewHandler(Options{Operate: s.operate, Nodes: true})); err != nil {
			t.Error(err)
		}
	})
	s.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := errors.Join(s.client.Close(), socket.Close(), s.registry.Close()); err != nil {
			t.Error(err)
		}
	})
	<-h.Ready()
	if s.client, err = Dial(t.Context(), s.data); err != nil {
		t.Fatal(err)
	}
	s.client.transport = conforming{t, s.client.transport.(*http.Transport)}
	t.Cleanup(s.stop)
	return s
}

// wantCode checks the code and text of an error.
func wantCode(t *testing.T, what string, err error, code host.Code, text string) {
	t.Helper()
	if e, ok := errors.AsType[*host.Error](err); !ok || e.Code != code || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: got %v, want %s with %q", what, err, code, text)
	}
}

func TestVerbsDoWhatTheOperatorDoes(t *testing.T) {
	t.Parallel()
	const name = "a:b ü%2F" // a name that has to be escaped in a path
	s := start(t, name, "other")
	ctx := t.Context()
	if err := s.client.Trigger(ctx, name); err != nil {
		t.Fatal(err)
	}
	if ran := <-s.ran; ran != name {
		t.Errorf("%q ran", ran)
	}
	report := func() *operator.JobReport {
		r, err := s.client.Job(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	id := report().Leader
	for _, step := range []struct {
		what string
		do   func() error
		is   func(*operator.JobReport) bool
	}{
		{"pause", func() error { return s.client.Pause(ctx, name, operator.PauseTerms{}) }, func(r *operator.JobReport) bool { return r.Paused }},
		{"resume", func() error { return s.client.Resume(ctx, name) }, func(r *operator.JobReport) bool { return !r.Paused }},
		{"disable an item", func() error { return s.client.SetItem(ctx, name, 0, true) }, func(r *operator.JobReport) bool { return r.Items[0].Disabled }},
		{"enable it", func() error { return s.client.SetItem(ctx, name, 0, false) }, func(r *operator.JobReport) bool { return !r.Items[0].Disabled }},
		{"disable a server", func() error { return s.client.SetServer(ctx, name, id.IP(), true) }, func(r *operator.JobReport) bool { return r.Servers[0].Disabled }},
		{"enable the job", func() error { return s.client.SetJob(ctx, name, false) }, func(r *operator.JobReport) bool { return !r.Servers[0].Disabled }},
		{"disable a server for all", func() error {
			set, unread, err := s.client.SetServers(ctx, id.IP(), true)
			if len(set) != 2 || len(unread) != 0 {
				t.Errorf("set for %q, not for %q", set, unread)
			}
			return err
		}, func(r *operator.JobReport) bool { return r.Servers[0].Disabled }},
		{"enable the job again", func() error { return s.client.SetJob(ctx, name, false) }, func(r *operator.JobReport) bool { return !r.Servers[0].Disabled }},
		{"reshard", func() error { return s.client.Reshard(ctx, name) }, func(*operator.JobReport) bool { return true }},
		{"shut down", func() error {
			gone, err := s.client.Shutdown(ctx, name, operator.Which{Instance: id})
			if len(gone) != 1 || gone[0] != id {
				t.Errorf("shut down: %q", gone)
			}
			return err
		}, func(r *operator.JobReport) bool { return len(r.Members) == 0 }},
	} {
		if err := step.do(); err != nil {
			t.Errorf("%s: %v", step.what, err)
		}
		if r := report(); !step.is(r) {
			t.Errorf("%s: it is %+v", step.what, r)
		}
	}
	wantCode(t, "trigger nobody", s.client.Trigger(ctx, name), host.Refused, "no server is registered")
	err := s.client.Remove(ctx, name, false)
	for leaving(err) {
		err = s.client.Remove(ctx, name, false)
	}
	if err != nil {
		t.Error(err)
	}
	if names, err := s.client.Names(ctx); err != nil || !reflect.DeepEqual(names, []string{"other"}) {
		t.Errorf("left: %q, %v", names, err)
	}
}

// leaving reports whether a removal was refused because a member that was shut down has not left yet,
// and its file would create the job again.
func leaving(err error) bool {
	e, ok := errors.AsType[*host.Error](err)
	return ok && e.Unless == operator.Force
}

func TestClientAnswersAsTheOperatorDoes(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	ctx := t.Context()
	op, err := s.operate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var want, got, after *operator.JobReport
	for want == nil || !cmp.Equal(want, after) { // the items may just be assigned
		var faults [3]error
		want, faults[0] = op.Job(ctx, "report")
		got, faults[1] = s.client.Job(ctx, "report")
		after, faults[2] = op.Job(ctx, "report")
		if err := errors.Join(faults[:]...); err != nil {
			t.Fatal(err)
		}
	}
	if c := want.Config; c.Description != got.Config.Description || c.Shards != got.Config.Shards || c.Kind != got.Config.Kind || c.TimeZone != got.Config.TimeZone {
		t.Errorf("config: %+v, want %+v", got.Config, want.Config)
	}
	want.Config, got.Config = nil, nil
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	var theirs, ours bytes.Buffer
	if err := errors.Join(op.Dump(ctx, "report", &theirs), s.client.Dump(ctx, "report", &ours), op.Close()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(theirs.String(), ours.String()); diff != "" || theirs.Len() == 0 {
		t.Error(diff)
	}
	_, err = s.client.Job(ctx, "absent")
	wantCode(t, "a job that is not there", err, host.NotFound, `there is no job "absent" in namespace wasmjobd`)
	wantCode(t, "a dump of it", s.client.Dump(ctx, "absent", &ours), host.NotFound, `there is no job "absent"`)
	for _, name := range []string{"", ".", "..", "a/b", "../report", "a\x00b"} {
		wantCode(t, name, s.client.Trigger(ctx, name), host.NotFound, "that cannot be the name of a job")
	}
	_, _, err = s.client.SetServers(ctx, "..", true)
	wantCode(t, "no address", err, host.NotFound, "no job knows a server")
}

// A client gets the same report as an operator of the registry. A new field of a report
// needs a place in the document.
func TestEveryFieldOfAReportTravels(t *testing.T) {
	t.Parallel()
	var want operator.JobReport
	fill(reflect.ValueOf(&want).Elem(), 3)
	config := *want.Config
	want.Config = &job.Config{Name: want.Name, Kind: config.Kind, Cron: config.Cron, Dialect: config.Dialect, TimeZone: config.TimeZone, Except: config.Except, Jitter: config.Jitter, CatchUp: config.CatchUp, Shards: config.Shards, Description: config.Description, Strategy: config.Strategy, StrategyModule: config.StrategyModule}
	for name, roundTrip := range map[string]func() (operator.JobReport, error){
		"list": func() (operator.JobReport, error) {
			var d jobsDocument
			err := roundTrip(jobsDocument{Version: 1, Jobs: []jobDocument{documentOf(&want)}}, &d)
			return *d.Jobs[0].report(), err
		},
		"show": func() (operator.JobReport, error) {
			var d shownDocument
			err := roundTrip(shownDocument{Version: 1, jobDocument: documentOf(&want)}, &d)
			return *d.report(), err
		},
	} {
		got, err := roundTrip()
		if err != nil {
			t.Fatal(err)
		}
		// Rows of a registry that one server has inside are in that server's history.
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(operator.JobReport{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// fill sets every field to a value that is not zero.
func fill(v reflect.Value, n int64) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.UnixMilli(1_700_000_000_000 + n)))
		return
	}
	if v.Type() == reflect.TypeFor[reason.Reason]() { // its codes are a closed list
		v.Set(reflect.ValueOf(reason.Of(reason.JobDenied, strings.Repeat("x", int(n)))))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(n)
	case reflect.String:
		v.SetString(strings.Repeat("x", int(n)))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n+int64(i))
			}
		}
	default:
		panic("fill has no value for " + v.Type().String())
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	s.stop()
	for what, dir := range map[string]string{"never": t.TempDir(), "absent": s.data + "/absent", "not any more": s.data} {
		if _, err := Dial(t.Context(), dir); !errors.Is(err, ErrNoServer) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if left, err := os.ReadDir(s.data + "/" + socketDir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	wantCode(t, "a client that stayed", s.client.Trigger(t.Context(), "report"), host.Unavailable, "no server answers")
}

// roundTrip encodes a document and decodes it again.
func roundTrip(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}
