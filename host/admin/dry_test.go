package admin

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
)

// counted is a registry that counts what is written to it.
type counted struct {
	registry.Registry
	writes atomic.Int64
}

func (c *counted) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := c.Registry.Open(ctx, on)
	return countedSession{s, c}, err
}

type countedSession struct {
	registry.Session
	of *counted
}

func (s countedSession) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	s.of.writes.Add(1)
	return s.Session.Commit(ctx, ops...)
}

// drily is a handler for the jobs of a server, with a registry that counts writes.
func drily(t *testing.T, s *server) (h *Handler, reg *counted) {
	reg, dir := &counted{Registry: s.registry}, t.TempDir()
	t.Cleanup(func() {
		if all := kept(t, dir); len(all) > 0 {
			t.Errorf("a dry run keeps %q", all)
		}
	})
	return NewHandler(Options{
		Operate: func(ctx context.Context) (*operator.Operator, error) { return operator.Open(ctx, reg, "wasmjobd") },
		Receive: func(r io.Reader) (*host.ReceivedModule, error) { return host.ReceiveModule(dir, r, nil) },
		Reload: func(_ context.Context, dry bool) (Reloaded, error) {
			if !dry {
				t.Error("a dry run applies the files")
			}
			return Reloaded{Reloaded: host.Reloaded{Added: []string{"a"}, Removed: []string{"b", "c"}, Kept: 2}}, nil
		},
	}), reg
}

// A dry run answers with what the request would do, and the request then does that.
func TestDryRuns(t *testing.T) {
	t.Parallel()
	s := start(t, "report", "sums")
	h, reg := drily(t, s)
	r, err := s.client.Job(t.Context(), "report")
	for again := time.NewTicker(time.Millisecond); err == nil && (len(r.Items) == 0 || r.Items[0].Owner == "" || r.Resharding); <-again.C {
		r, err = s.client.Job(t.Context(), "report") // there is no event for it
	}
	if err != nil {
		t.Fatal(err)
	}
	self := r.Members[0].ID // a leader may not have been elected yet
	ip := self.IP()
	hello := strings.Repeat("0a", 32)
	for _, tt := range []struct {
		method, path, body string
		want               []operator.Deed // nil: it fails with
		fault              string
	}{
		{http.MethodPost, jobPath("report") + ":pause", "", []operator.Deed{{Verb: "job pause", Job: "report", Before: "running", After: "paused"}}, ""},
		{http.MethodPost, jobPath("report") + ":resume", "", []operator.Deed{}, ""},
		{http.MethodPost, jobPath("report") + ":reshard", "{}", []operator.Deed{{Verb: "job reshard", Job: "report"}}, ""},
		{http.MethodPost, jobPath("report") + "/runs", "", []operator.Deed{{Verb: "job trigger", Job: "report"}}, ""},
		{http.MethodPost, jobPath("report") + ":disable", "", []operator.Deed{{Verb: "job disable", Job: "report", Detail: "server=" + ip, Before: "enabled", After: "disabled"}}, ""},
		{http.MethodPost, jobPath("report") + ":shutdown", `{"all":true}`, []operator.Deed{{Verb: "job shutdown", Job: "report", Detail: "instance=" + string(self)}}, ""},
		{http.MethodPost, jobPath("report") + "/shards/0:disable", "", []operator.Deed{{Verb: "job disable", Job: "report", Detail: "item=0", Before: "enabled", After: "disabled"}}, ""},
		{http.MethodPost, jobPath("report") + "/shards/7:disable", "", nil, "there is no such item"},
		{http.MethodPost, jobPath("nothing") + ":pause", "", nil, "there is no job"},
		{http.MethodPost, jobPath("report") + ":pause", `{"until":"noon"}`, nil, "is not a time"},
		{http.MethodPost, jobPath("report") + ":pause", `{"for":"an hour"}`, nil, "is not a time"},
		{http.MethodPost, jobPath("report") + ":pause", `{"til":"noon"}`, nil, "is not known"},
		{http.MethodPost, jobPath("report") + ":pause", `{"until":"2000-01-01T00:00:00Z"}`, nil, "it cannot end at 2000-01-01T00:00:00Z"},
		{http.MethodPost, jobPath("report") + ":pause", `{"reason":"deploy"}`, []operator.Deed{{Verb: "job pause", Job: "report", Detail: "reason=deploy", Before: "running", After: "paused"}}, ""},
		{http.MethodPost, serversPath + "/" + ip + ":disable", "", []operator.Deed{
			{Verb: "job disable", Job: "report", Detail: "server=" + ip, Before: "enabled", After: "disabled"},
			{Verb: "job disable", Job: "sums", Detail: "server=" + ip, Before: "enabled", After: "disabled"},
		}, ""},
		{http.MethodPost, tokensPath, `{"name":"ci","role":"viewer"}`, []operator.Deed{{Verb: "token create", Detail: "name=ci", After: "viewer, for ever"}}, ""},
		{http.MethodPost, tokensPath, `{"name":"ci","role":"king"}`, nil, "there is no role"},
		{http.MethodDelete, tokensPath + "/ci", "", nil, "there is no token ci"},
		{http.MethodPost, reloadPath, "", []operator.Deed{{Verb: "reload", Detail: "added a"}, {Verb: "reload", Detail: "removed b"}, {Verb: "reload", Detail: "removed c"}}, ""},
		{http.MethodPut, modulesPath + "/" + digestOf("hello"), "hello", []operator.Deed{{Verb: "module upload", Detail: "digest=" + digestOf("hello")}}, ""},
		{http.MethodPut, modulesPath + "/" + hello, "hello", nil, "its sha256 is " + digestOf("hello")},
		{http.MethodPut, modulesPath + "/hello", "hello", nil, "write 64 lower-case hex digits"},
	} {
		mediaType := ""
		switch {
		case tt.method == http.MethodPut:
			mediaType = wasmType
		case tt.body != "":
			mediaType = jsonType
		}
		w := answered(t, h, tt.method, tt.path+"?dry_run=true", tt.body, mediaType)
		var d dryDocument
		if tt.want == nil {
			if p := problemIn(t, w); !strings.Contains(p.Detail, tt.fault) {
				t.Errorf("%s %s %s fails with %s, want %s", tt.method, tt.path, tt.body, p.Detail, tt.fault)
			}
			continue
		}
		if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || w.Code != http.StatusOK || !d.DryRun || strings.Contains(w.Body.String(), operator.TokenPrefix) {
			t.Errorf("%s %s %s: %d %s: %v", tt.method, tt.path, tt.body, w.Code, w.Body, err)
		}
		if diff := cmp.Diff(tt.want, d.Changes); diff != "" {
			t.Errorf("%s %s %s: %s", tt.method, tt.path, tt.body, diff)
		}
	}
	if n := reg.writes.Load(); n != 0 {
		t.Errorf("dry runs wrote %d times", n)
	}
	if len(s.ran) > 0 {
		t.Error("a dry run ran something")
	}
	for value, status := range map[string]int{"false": http.StatusAccepted, "": http.StatusBadRequest, "yes": http.StatusBadRequest, "true&dry_run=true": http.StatusBadRequest} {
		if w := answered(t, h, http.MethodPost, jobPath("sums")+":reshard?dry_run="+value, "", ""); w.Code != status {
			t.Errorf("dry_run=%s: %d %s, want %d", value, w.Code, w.Body, status)
		}
	}
	if reg.writes.Load() == 0 {
		t.Error("the test does not see what is written")
	}
}

// No route writes in a dry run, even a route that has no support for it.
func TestNoDryRunWrites(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	h, reg := drily(t, s)
	tried := 0
	for _, one := range routes() {
		path := filledIn.Replace(one.path) + "?dry_run=true"
		if !one.writes() {
			if len(one.query) == 0 {
				if w := answered(t, h, one.method, path, "", ""); w.Code < http.StatusBadRequest {
					t.Errorf("%s %s is answered %d, and writes nothing anyway", one.method, path, w.Code)
				}
			}
			continue
		}
		w := answered(t, h, one.method, path, "", one.does.takesType)
		if w.Code == http.StatusOK {
			tried++
		}
		if n := reg.writes.Load(); n != 0 || w.Code >= http.StatusInternalServerError || w.Code > http.StatusOK && w.Code < http.StatusBadRequest {
			t.Fatalf("%s %s is answered %d %s, and wrote %d times", one.method, path, w.Code, w.Body, n)
		}
	}
	if tried < 8 {
		t.Errorf("only %d requests came through", tried)
	}
}
