package admin

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// answered returns the answer of a handler to a request.
func answered(t *testing.T, h http.Handler, method, path, body, mediaType string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	checkAnswer(t, method, path, w)
	return w
}

// problemIn decodes the problem in an answer.
func problemIn(t *testing.T, w *httptest.ResponseRecorder) problem {
	t.Helper()
	var p problem
	if mediaType := w.Header().Get("Content-Type"); mediaType != problemType {
		t.Errorf("it is %q: %s", mediaType, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	if p.Status != w.Code || p.Type != problemURN+p.Code || p.Title != http.StatusText(w.Code) || p.Detail == "" || p.RequestID == "" {
		t.Errorf("answered %d: %+v", w.Code, p)
	}
	return p
}

func TestProblems(t *testing.T) {
	t.Parallel()
	r := embedded.Memory()
	h := NewHandler(Options{Operate: func(ctx context.Context) (*operator.Operator, error) { return operator.Open(ctx, r, "wasmjobd") }})
	for _, tt := range []struct {
		name, method, path, body, mediaType string
		status                              int
		code, allow                         string
	}{
		{"nothing there", "GET", "/", "", "", 404, codeNoRoute, ""},
		{"not below the version", "GET", "/api/v1", "", "", 404, codeNoRoute, ""},
		{"slash behind", "GET", "/api/v1/jobs/", "", "", 404, codeNoRoute, ""},
		{"two slashes", "POST", "/api/v1//jobs/report:pause", "", "", 404, codeNoRoute, ""},
		{"upwards", "GET", "/api/v1/jobs/../jobs", "", "", 404, codeNoRoute, ""},
		{"asterisk", "OPTIONS", "*", "", "", 404, codeNoRoute, ""},
		{"query", "GET", "/api/v1/jobs?limits=1", "", "", 400, codeBadRequest, ""},
		{"query that says nothing new", "POST", "/api/v1/jobs/report:pause?quietly=true", "", "", 400, codeBadRequest, ""},
		{"time that is empty", "GET", "/api/v1/audit?since=", "", "", 400, codeBadRequest, ""},
		{"moment that is empty", "GET", "/api/v1/jobs/report/explain?at=", "", "", 400, codeBadRequest, ""},
		{"limit that is empty", "GET", "/api/v1/jobs?limit=&q=", "", "", 400, codeBadRequest, ""},
		{"put", "PUT", "/api/v1/jobs/report", "{}", jsonType, 405, codeMethod, "DELETE, GET, HEAD, POST"},
		{"post without a verb", "POST", "/api/v1/jobs/report", "{}", jsonType, 405, codeMethod, "DELETE, GET, HEAD"},
		{"delete all", "DELETE", "/api/v1/jobs", "", "", 405, codeMethod, "GET, HEAD"},
		{"get a trigger", "GET", "/api/v1/jobs/report/runs", "", "", 405, codeMethod, "POST"},
		{"made-up method", "TRIGGER", "/api/v1/jobs/report/runs", "", "", 405, codeMethod, "POST"},
		{"unknown verb", "POST", "/api/v1/jobs/report:explode", "", "", 404, codeNoRoute, ""},
		{"unknown verb of an item", "POST", "/api/v1/jobs/report/shards/0:explode", "", "", 404, codeNoRoute, ""},
		{"no item", "POST", "/api/v1/jobs/report/shards/x:disable", "", "", 404, codeNoRoute, ""},
		{"odd item", "POST", "/api/v1/jobs/report/shards/+1:disable", "", "", 404, codeNoRoute, ""},
		{"unknown verb of a server", "POST", serversPath + "/10.0.0.1:mend", "", "", 404, codeNoRoute, ""},
		{"form", "POST", "/api/v1/jobs/report:pause", "a=b", "application/x-www-form-urlencoded", 415, codeMediaType, ""},
		{"body without a type", "POST", "/api/v1/jobs/report:pause", "{}", "", 415, codeMediaType, ""},
		{"type that is none", "POST", "/api/v1/jobs/report:pause", "{}", "application/json; charset", 415, codeMediaType, ""},
		{"array", "POST", "/api/v1/jobs/report:pause", "[]", jsonType, 400, codeBadRequest, ""},
		{"unknown member", "POST", "/api/v1/jobs/report:pause", `{"till":"tomorrow"}`, jsonType, 400, codeBadRequest, ""},
		{"member in capitals", "POST", "/api/v1/jobs/report:disable", `{"Server":"10.0.0.1"}`, jsonType, 400, codeBadRequest, ""},
		{"member twice", "POST", "/api/v1/jobs/report:disable", `{"server":"10.0.0.1","server":"10.0.0.2"}`, jsonType, 400, codeBadRequest, ""},
		{"null", "POST", "/api/v1/jobs/report:disable", `{"server":null}`, jsonType, 400, codeBadRequest, ""},
		{"null in a list", "POST", "/api/v1/jobs/report:cancel-backfill", `{"items":[1,null]}`, jsonType, 400, codeBadRequest, ""},
		{"number", "POST", "/api/v1/jobs/report:shutdown", `{"all":1}`, jsonType, 400, codeBadRequest, ""},
		{"more behind", "POST", "/api/v1/jobs/report:pause", `{}{}`, jsonType, 400, codeBadRequest, ""},
		{"cut off", "POST", "/api/v1/jobs/report:disable", `{"server":"10.0.`, jsonType, 400, codeBadRequest, ""},
		{"no UTF-8", "POST", "/api/v1/jobs/report:disable", "{\"server\":\"\xff\"}", jsonType, 400, codeBadRequest, ""},
		{"module that is none of these", "POST", "/api/v1/jobs/report:set-module", `{"module":"x"}`, jsonType, 400, codeBadRequest, ""},
		{"module with a long reference", "POST", "/api/v1/jobs/report:set-module", `{"reference":"` + strings.Repeat("x", maxReference+1) + `"}`, jsonType, 422, "invalid", ""},
		{"module of nobody", "POST", "/api/v1/jobs/report:rollback-module", "", "", 404, "not_found", ""},
		{"module where none is kept", "PUT", modulesPath + "/x", "x", wasmType, 404, codeNoRoute, ""},
		{"module to be read", "GET", modulesPath + "/x", "", "", 405, codeMethod, "PUT"},
		{"shut down nowhere", "POST", "/api/v1/jobs/report:shutdown", "{}", jsonType, 422, "invalid", ""},
		{"shut down here and there", "POST", "/api/v1/jobs/report:shutdown", `{"all":true,"server":"10.0.0.1"}`, jsonType, 422, "invalid", ""},
		{"no such job", "POST", "/api/v1/jobs/report:pause", "{}", jsonType + "; charset=utf-8", 404, "not_found", ""},
		{"no such job to remove", "DELETE", "/api/v1/jobs/report", "", "", 404, "not_found", ""},
		{"no such job to be shown", "GET", "/api/v1/jobs/report", "", "", 404, "not_found", ""},
		{"no such server", "POST", serversPath + "/10.0.0.1:disable", "", "", 404, "not_found", ""},
		{"name that leads elsewhere", "GET", "/api/v1/jobs/report%2Fconfig", "", "", 404, "not_found", ""},
		{"name upwards", "DELETE", "/api/v1/jobs/%2E%2E", "", "", 404, "not_found", ""},
		{"name with a control", "POST", "/api/v1/jobs/a%0Ab:pause", "", "", 404, "not_found", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := answered(t, h, tt.method, tt.path, tt.body, tt.mediaType)
			p := problemIn(t, w)
			if w.Code != tt.status || p.Code != tt.code {
				t.Errorf("answered %d %s (%s), want %d %s", w.Code, p.Code, p.Detail, tt.status, tt.code)
			}
			if allow := w.Header().Get("Allow"); allow != tt.allow {
				t.Errorf("allowed is %q, want %q", allow, tt.allow)
			}
		})
	}
}

func TestFaultsOfABodyHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	h := NewHandler(Options{Operate: func(ctx context.Context) (*operator.Operator, error) {
		return operator.Open(ctx, embedded.Memory(), "wasmjobd")
	}})
	p := problemIn(t, answered(t, h, "POST", "/api/v1/jobs/report:shutdown", `{"all":"yes","a/b~c":1,"all":true,"instance":"x"}`, jsonType))
	var at []string
	for _, f := range p.Errors {
		at = append(at, f.Pointer)
	}
	if want := []string{"/all", "/a~1b~0c", "/all"}; !slices.Equal(at, want) {
		t.Errorf("faults %+v at %q, want %q", p.Errors, at, want)
	}
}

// Every code of the host survives the way through an answer to the client.
func TestErrorsTravel(t *testing.T) {
	t.Parallel()
	codes := slices.Sorted(maps.Keys(statuses))
	if len(codes) != 7 {
		t.Errorf("codes: %q", codes)
	}
	for _, code := range codes {
		h := NewHandler(Options{Operate: func(context.Context) (*operator.Operator, error) {
			return nil, &host.Error{Code: code, Msg: "try", Err: errors.New("it <failed>")}
		}})
		w := answered(t, h, "POST", "/api/v1/jobs/report:pause", "", "")
		if p := problemIn(t, w); p.Code != string(code) {
			t.Errorf("%s is answered as %s", code, p.Code)
		}
		wantCode(t, "answer", refused(w.Result()), code, "try: it <failed>")
	}
	h := NewHandler(Options{Operate: func(context.Context) (*operator.Operator, error) {
		return nil, &host.Error{Code: host.Refused, Msg: "it comes back", Unless: operator.Force}
	}})
	w := answered(t, h, "POST", "/api/v1/jobs/report:pause", "", "")
	if e, ok := errors.AsType[*host.Error](refused(w.Result())); !ok || e.Unless != operator.Force || strings.Contains(e.Msg, "force") {
		t.Errorf("what it can be done with all the same: %+v, want %s in a field of its own", e, operator.Force)
	}
	w = httptest.NewRecorder()
	w.WriteHeader(http.StatusBadGateway)
	wantCode(t, "no problem document", refused(w.Result()), host.Internal, "the server answers 502 without a reason")
}

func TestTriggerIsAccepted(t *testing.T) {
	t.Parallel()
	s := start(t, "a:b c")
	h := NewHandler(Options{Operate: s.operate})
	w := answered(t, h, "POST", "/api/v1/jobs/a:b%20c/runs", "", "")
	if at := w.Header().Get("Location"); w.Code != http.StatusAccepted || at != "/api/v1/jobs/a:b%20c" {
		t.Fatalf("answered %d, location %q: %s", w.Code, at, w.Body)
	}
	<-s.ran
	if w := answered(t, h, "GET", w.Header().Get("Location"), "", ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"job":"a:b c"`) {
		t.Errorf("answered %d: %s", w.Code, w.Body)
	}
	if w := answered(t, h, "HEAD", "/api/v1/jobs", "", ""); w.Code != http.StatusOK {
		t.Errorf("answered %d", w.Code)
	}
}
