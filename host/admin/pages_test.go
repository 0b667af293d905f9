package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

func namesIn(d jobsDocument) []string {
	all := []string{}
	for _, j := range d.Jobs {
		all = append(all, j.Name)
	}
	return all
}

func TestJobsComeInPages(t *testing.T) {
	t.Parallel()
	s := start(t, "a&b", "mail", "mail.old", "report", "sums")
	if err := s.client.Pause(t.Context(), "mail.old", operator.PauseTerms{}); err != nil {
		t.Fatal(err)
	}
	h := NewHandler(Options{Operate: s.operate})
	for query, want := range map[string][][]string{
		"":                              {{"a&b", "mail", "mail.old", "report", "sums"}},
		"?limit=2":                      {{"a&b", "mail"}, {"mail.old", "report"}, {"sums"}},
		"?limit=1&q=mail":               {{"mail"}, {"mail.old"}},
		"?limit=1&q=a%26":               {{"a&b"}},
		"?q=none":                       {{}},
		"?state=paused":                 {{"mail.old"}},
		"?state=paused&q=mail&limit=1":  {{"mail.old"}},
		"?limit=3&cursor=mail":          {{"mail.old", "report", "sums"}},
		"?limit=3&cursor=no.longer.job": {{"report", "sums"}},
	} {
		var got [][]string
		for at := jobsPath + query; at != ""; {
			w := answered(t, h, http.MethodGet, at, "", "")
			var d jobsDocument
			if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s: %v", at, w.Code, w.Body, err)
			}
			got = append(got, namesIn(d))
			link := w.Header().Get("Link")
			if (link == "") != (d.Next == "") || len(got) > 10 {
				t.Fatalf("page %d: next is %q, and the link %q", len(got), d.Next, link)
			}
			at, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">")
		}
		if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"?limit=0": "limit is 1 to 1000", "?limit=1001": "limit is 1 to 1000", "?state=pending": `, idle, not \"pending\"`,
		"?page=2": "known are cursor, limit, q, state",
	} {
		if w := answered(t, h, http.MethodGet, jobsPath+query, "", ""); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", query, w.Code, w.Body, want)
		}
	}
}

// pagewise limits the pages of a server to a few rows.
type pagewise struct {
	transport
	ask func(r *http.Request)
}

func (p pagewise) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	query.Set("limit", "2")
	r.URL.RawQuery = query.Encode()
	p.ask(r)
	return p.transport.RoundTrip(r)
}

// The client requests all pages, and fails if they do not end.
func TestClientAsksForAllPages(t *testing.T) {
	t.Parallel()
	s := start(t, "a", "b", "c", "d", "e")
	inner, pages := s.client.transport, 0
	s.client.transport = pagewise{inner, func(*http.Request) { pages++ }}
	if names, err := s.client.Names(t.Context()); err != nil || !slices.Equal(names, []string{"a", "b", "c", "d", "e"}) || pages != 3 {
		t.Errorf("%d pages with %q: %v", pages, names, err)
	}
	s.client.transport = pagewise{inner, func(r *http.Request) { r.URL.RawQuery = "limit=2" }}
	_, err := s.client.Names(t.Context())
	wantCode(t, "a server that repeats itself", err, host.Internal, `does not advance beyond "b"`)
	s.client.transport = inner
}

// BenchmarkAPIJobs answers requests for the list of 10,000 jobs, which no member runs.
func BenchmarkAPIJobs(b *testing.B) {
	reg := embedded.Memory()
	defer func() { _ = reg.Close() }()
	const jobs = 10_000
	multiply(b, reg, jobs)
	shared := operator.NewSharedSession(reg, "wasmjobd")
	defer func() { _ = shared.Close() }()
	h := NewHandler(Options{Operate: shared.Operator})
	for name, query := range map[string]string{"first": "", "last": fmt.Sprintf("?cursor=job-%05d", jobs-defaultPage-1), "largest": "?limit=1000", "named": "?q=-0999", "state": "?state=paused"} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				begun := time.Now()
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, jobsPath+query, http.NoBody))
				took = append(took, time.Since(begun))
				if w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms<=50")
		})
	}
}

// multiply copies the nodes of a job that has run once to many jobs.
func multiply(b *testing.B, to registry.Registry, jobs int) {
	b.Helper()
	s := start(b, "job-00000")
	if err := s.client.Trigger(b.Context(), "job-00000"); err != nil {
		b.Fatal(err)
	}
	<-s.ran
	from, err := s.registry.Open(b.Context(), func(registry.Event) {})
	if err != nil {
		b.Fatal(err)
	}
	into, err := to.Open(b.Context(), func(registry.Event) {})
	if err != nil {
		b.Fatal(err)
	}
	var copyBelow func(path, as string, n int)
	copyBelow = func(path, as string, n int) {
		node, err := from.Read(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		data := strings.ReplaceAll(string(node.Data), "job-00000", fmt.Sprintf("job-%05d", n))
		kind := registry.Create
		if node.Stat.Owner != 0 {
			kind = registry.CreateEphemeral
		}
		if _, err := into.Commit(b.Context(), registry.Op{Kind: kind, Path: as, Data: []byte(data)}); err != nil {
			b.Fatal(as, err)
		}
		for _, child := range node.Children {
			copyBelow(path+"/"+child, as+"/"+child, n)
		}
	}
	if _, err := into.Commit(b.Context(), registry.Op{Kind: registry.Create, Path: "/wasmjobd"}); err != nil {
		b.Fatal(err)
	}
	for n := range jobs {
		copyBelow("/wasmjobd/job-00000", fmt.Sprintf("/wasmjobd/job-%05d", n), n)
	}
}
