package admin

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
)

// tagged sends a request with headers, "name: value", and returns the answer.
func tagged(t *testing.T, h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", jsonType)
	}
	for _, one := range headers {
		name, value, _ := strings.Cut(one, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	checkAnswer(t, method, path, w)
	return w
}

// shared waits until the items of a job have their owners and nothing changes by itself.
func shared(t *testing.T, s *server, name string) *operator.JobReport {
	t.Helper()
	for {
		r, err := s.client.Job(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Items) > 0 && r.Items[0].Owner != "" && !r.Resharding {
			return r
		}
	}
}

// A write with the current tag is done, and with an older one refused.
func TestWritesDependOnTags(t *testing.T) {
	t.Parallel()
	s := start(t, "report", "sums")
	h := NewHandler(Options{Operate: s.operate})
	look := func() (tag, edition string) {
		w := tagged(t, h, http.MethodGet, jobPath("report"), "")
		var d shownDocument
		if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || d.Edition == "" {
			t.Fatalf("%s: %v", w.Body, err)
		}
		return w.Header().Get(etagHeader), quoted(d.Edition)
	}
	ip := shared(t, s, "report").Leader.IP()
	paused := func() bool {
		r, err := s.client.Job(t.Context(), "report")
		if err != nil {
			t.Fatal(err)
		}
		return r.Paused
	}
	old, oldEdition := look()
	if tag, edition := look(); tag != old || edition != oldEdition || !strings.HasPrefix(tag, `"`) {
		t.Errorf("the tag %s became %s, and the edition %s became %s, for nothing", old, tag, oldEdition, edition)
	}
	if err := s.client.SetItem(t.Context(), "report", 0, true); err != nil {
		t.Fatal(err)
	}
	tag, edition := look()
	if tag == old || edition == oldEdition {
		t.Errorf("the tag %s or the edition %s stays, and an item was disabled", tag, edition)
	}
	for _, one := range []struct{ method, path, body string }{
		{http.MethodPost, jobPath("report") + ":pause", ""}, {http.MethodPost, jobPath("report") + ":pause?dry_run=true", ""}, {http.MethodPost, jobPath("report") + "/runs", ""},
		{http.MethodPost, jobPath("report") + "/shards/0:enable", ""}, {http.MethodPost, jobPath("report") + ":disable", ""}, {http.MethodPost, jobPath("report") + ":disable", `{"server":"` + ip + `"}`},
		{http.MethodPost, jobPath("report") + ":shutdown", `{"all":true}`}, {http.MethodDelete, jobPath("report"), `{"force":true}`}, {http.MethodPost, jobPath("report") + ":reshard", ""},
		{http.MethodPost, jobPath("sums") + ":pause", ""},                                                                          // another job has another tag
		{http.MethodPost, jobPath("report") + ":silence", `{"for":"1h"}`}, {http.MethodPost, jobPath("report") + ":unsilence", ""}, // silences are outside the job
		{http.MethodPost, serversPath + "/" + ip + ":disable", ""}, {http.MethodDelete, tokensPath + "/first", ""},
	} {
		for _, header := range []string{old, oldEdition, "W/" + tag, `"", ` + old} {
			if w := tagged(t, h, one.method, one.path, one.body, matchHeader+": "+header); w.Code != http.StatusPreconditionFailed || problemIn(t, w).Code != codeOutdated {
				t.Errorf("%s %s %s with the tag %s is answered %d %s", one.method, one.path, one.body, header, w.Code, w.Body)
			}
		}
	}
	for _, wrong := range []string{"report", `"`, `"a" "b"`, `w/"a"`, "", `*, "a"`, strings.Repeat(`"a",`, maxTags+1)} {
		if w := tagged(t, h, http.MethodPost, jobPath("report")+":pause", "", matchHeader+": "+wrong); w.Code != http.StatusBadRequest {
			t.Errorf("the tag %s is answered %d %s", wrong, w.Code, w.Body)
		}
	}
	if paused() || len(s.ran) > 0 {
		t.Error("a refused request did something")
	}
	for i := range 3 {
		header := []string{tag, `"a", ` + edition + ` ,`, "*"}[i]
		verb := []string{":pause", ":resume"}[i%2]
		if w := tagged(t, h, http.MethodPost, jobPath("report")+verb, "", matchHeader+": "+header); w.Code != http.StatusAccepted || paused() != (i%2 == 0) {
			t.Fatalf("%s with %s is answered %d %s", verb, header, w.Code, w.Body)
		}
		if now, nowEdition := look(); now == tag || nowEdition == edition && i%2 == 0 {
			t.Errorf("%s: the tag %s and the edition %s are not new", verb, now, nowEdition)
		}
		tag, edition = look()
	}
	if w := tagged(t, h, http.MethodPost, jobPath("report")+":disable", "", matchHeader+": "+tag); w.Code != http.StatusAccepted {
		t.Errorf("the whole job: %d %s", w.Code, w.Body)
	}
}

// A tag is current also if the document says of drains, and of jobs after which the job runs.
func TestTagsOfWhatIsOutsideTheJob(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	h := NewHandler(Options{Operate: s.operate})
	ip := shared(t, s, "report").Leader.IP()
	if _, _, err := s.client.Drain(t.Context(), ip, "new disks"); err != nil {
		t.Fatal(err)
	}
	op, err := s.operate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = op.Close() })
	late := func(text operator.JobText) (job.Config, error) {
		return job.Config{Name: text.Name, Kind: job.Simple, Shards: 1, Module: "m", ModuleDigest: text.Digest, After: []string{"gone"}, Layout: job.Layout21, MaxClockSkew: -1, Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss}, nil
	}
	if _, err := op.CreateJob(t.Context(), operator.JobText{Name: "late", Digest: strings.Repeat("0a", 32)}, late); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct{ name, method, verb, body, says string }{
		{"report", http.MethodPost, ":pause", "", "new disks"}, {"late", http.MethodDelete, "", `{"force":true}`, "gone"},
	} {
		for done := false; !done; { // the job may just change
			seen := tagged(t, h, http.MethodGet, jobPath(one.name), "")
			if !strings.Contains(seen.Body.String(), one.says) {
				t.Fatalf("%s says nothing of %s: %s", one.name, one.says, seen.Body)
			}
			tag := seen.Header().Get(etagHeader)
			w := tagged(t, h, one.method, jobPath(one.name)+one.verb, one.body, matchHeader+": "+tag)
			if done = w.Code < 300; !done && tagged(t, h, http.MethodGet, jobPath(one.name), "").Header().Get(etagHeader) == tag {
				t.Fatalf("%s with its current tag is answered %d %s", one.name, w.Code, w.Body)
			}
		}
	}
}

// A client does not get an answer again that it has already.
func TestAnswersThatAreKnown(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	h := NewHandler(Options{Operate: s.operate})
	shared(t, s, "report")
	w := tagged(t, h, http.MethodGet, jobPath("report"), "")
	tag := w.Header().Get(etagHeader)
	for header, status := range map[string]int{tag: 304, "W/" + tag: 304, `"a", ` + tag: 304, "*": 304, `"a"`: 200, tag[1:]: 400} {
		w := tagged(t, h, http.MethodGet, jobPath("report"), "", noneHeader+": "+header)
		if w.Code != status || status == http.StatusNotModified && (w.Body.Len() > 0 || w.Header().Get(etagHeader) != tag) {
			t.Errorf("%s is answered %d %s", header, w.Code, w.Body)
		}
	}
}

// A run of the job changes its tag, but not its edition.
func TestEditionsOutlastRuns(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	look := func() (string, string) {
		r, err := s.client.Job(t.Context(), "report")
		if err != nil {
			t.Fatal(err)
		}
		tag, err := etagOf(shownOf(r))
		if err != nil {
			t.Fatal(err)
		}
		return tag, r.Edition
	}
	shared(t, s, "report")
	tag, edition := look()
	if err := s.client.Trigger(t.Context(), "report"); err != nil {
		t.Fatal(err)
	}
	<-s.ran
	if now, nowEdition := look(); now == tag || nowEdition != edition {
		t.Errorf("the tag %s became %s, the edition %s became %s", tag, now, edition, nowEdition)
	}
}

func FuzzTags(f *testing.F) {
	for _, seed := range []string{"*", `"a"`, `"a", W/"b" ,`, `"`, "", ",,", `"a""b"`, "\"\xff\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := &request{Request: &http.Request{Header: http.Header{matchHeader: {text}}}}
		tags, all, err := r.tags(matchHeader)
		if all && (tags != nil || err != nil) || err != nil && tags != nil || len(tags) > maxTags {
			t.Errorf("%q: %q, %v, %v", text, tags, all, err)
		}
		for _, one := range tags {
			again, _, err := (&request{Request: &http.Request{Header: http.Header{matchHeader: {one}}}}).tags(matchHeader)
			if err != nil || len(again) != 1 || again[0] != one {
				t.Errorf("%q has %q, which is read as %q, %v", text, one, again, err)
			}
		}
	})
}
