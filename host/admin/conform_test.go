package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// documented compiles the OpenAPI document, by which answers are checked.
var documented = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	d, err := jsonschema.UnmarshalJSON(bytes.NewReader(openAPI(routes())))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	return c, c.AddResource("openapi.json", d)
})

// compiling is held while the compiler is used, which is not safe for concurrent use.
var compiling sync.Mutex

// contents has the media types of each answer in the OpenAPI document, by path, method
// and status.
var contents = sync.OnceValues(func() (d struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct{ Content map[string]any }
	}
}, err error) {
	err = json.Unmarshal(openAPI(routes()), &d)
	return d, err
})

// nonconforming says what is wrong with an answer by the OpenAPI document; "": nothing.
func nonconforming(method, path string, status int, header http.Header, body []byte) string {
	var p problem
	at, ok := templateOf(method, path)
	if !ok || json.Unmarshal(body, &p) == nil && (p.Code == codeNoRoute || p.Code == codeMethod) {
		switch status {
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnauthorized, http.StatusForbidden:
			return invalid("openapi.json#/components/schemas/Problem", body)
		}
		return fmt.Sprintf("no route is documented, and it is answered %d", status)
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	d, err := contents()
	if err != nil {
		return err.Error()
	}
	answer, ok := d.Paths[at][strings.ToLower(method)].Responses[strconv.Itoa(status)]
	mediaType := header.Get("Content-Type")
	_, typed := answer.Content[mediaType]
	switch {
	case !ok:
		return fmt.Sprintf("the status %d is not documented", status)
	case mediaType == "" && len(body) == 0 && len(answer.Content) == 0:
		return ""
	case !typed:
		return fmt.Sprintf("the media type %q is not documented for %d", mediaType, status)
	case !strings.Contains(mediaType, "json"):
		return ""
	}
	return invalid(fmt.Sprintf("openapi.json#/paths/%s/%s/responses/%d/content/%s/schema", pointed(at), strings.ToLower(method), status, pointed(mediaType)), body)
}

// pointed escapes a name for a JSON pointer in the fragment of a URL.
func pointed(name string) string {
	return strings.NewReplacer("{", "%7B", "}", "%7D").Replace(escapePointer(name))
}

// invalid says why a text is not what a schema describes.
func invalid(at string, text []byte) string {
	c, err := documented()
	if err != nil {
		return err.Error()
	}
	compiling.Lock()
	s, err := c.Compile(at)
	compiling.Unlock()
	if err != nil {
		return err.Error()
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// templateOf finds the route of a request independently of the handler, and returns its path.
func templateOf(method, path string) (string, bool) {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i], _ = url.PathUnescape(p)
	}
	for _, r := range routes() {
		if r.method != method && (r.method != http.MethodGet || method != http.MethodHead) {
			continue
		}
		base, verb := r.base()
		if verb != "" {
			if !strings.HasSuffix(parts[len(parts)-1], ":"+verb) {
				continue
			}
		}
		of := strings.Split(base, "/")
		same := func(i int) bool { return of[i] == parts[i] || strings.HasPrefix(of[i], "{") && parts[i] != "" }
		if len(of) == len(parts) && !slices.ContainsFunc(numbers(len(of)), func(i int) bool { return !same(i) }) {
			return r.path, true
		}
	}
	return "", false
}

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// conforming checks each answer that a client gets by the OpenAPI document.
type conforming struct {
	t testing.TB
	*http.Transport
}

func (c conforming) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if wrong := nonconforming(r.Method, r.URL.EscapedPath(), answer.StatusCode, answer.Header, body); wrong != "" {
		c.t.Errorf("%s %s: %s", r.Method, r.URL, wrong)
	}
	_ = answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

// The check of answers notices what is not documented.
func TestConformanceNotices(t *testing.T) {
	t.Parallel()
	typed := func(mediaType string) http.Header { return http.Header{"Content-Type": {mediaType}} }
	for _, tt := range []struct {
		name, method, path string
		status             int
		mediaType, body    string
		ok                 bool
	}{
		{"as documented", "GET", serversPath, 200, jsonType, `{"version":1,"servers":[]}`, true},
		{"another member", "GET", serversPath, 200, jsonType, `{"version":1,"servers":[],"more":1}`, false},
		{"a member less", "GET", serversPath, 200, jsonType, `{"version":1}`, false},
		{"null for a list", "GET", serversPath, 200, jsonType, `{"version":1,"servers":null}`, false},
		{"a list of others", "GET", serversPath, 200, jsonType, `{"version":1,"servers":[{"server":1}]}`, false},
		{"another status", "GET", serversPath, 202, "", "", false},
		{"another type", "GET", serversPath, 200, "text/html", "<p>", false},
		{"a problem of a route", "POST", "/api/v1/jobs/a:b:pause", 409, problemType, `{}`, false},
		{"no route", "GET", "/api/v1/secrets", 200, jsonType, `{}`, false},
	} {
		if wrong := nonconforming(tt.method, tt.path, tt.status, typed(tt.mediaType), []byte(tt.body)); (wrong == "") != tt.ok {
			t.Errorf("%s: %q", tt.name, wrong)
		}
	}
}

// Routes that a server may lack are documented as possibly absent.
func TestRoutesThatAreMissing(t *testing.T) {
	t.Parallel()
	d, err := contents()
	if err != nil {
		t.Fatal(err)
	}
	h := NewHandler(Options{Operate: onMemory})
	for _, one := range routes() {
		if one.served == nil {
			continue
		}
		w := sent(t, h, one.method, filledIn.Replace(one.path), "10.0.0.1:1")
		if _, ok := d.Paths[strings.ReplaceAll(one.path, "...}", "}")][strings.ToLower(one.method)].Responses[strconv.Itoa(w.Code)]; !ok {
			t.Errorf("%s %s is answered %d, which is not documented", one.method, one.path, w.Code)
		}
	}
}

// checkAnswer checks an answer of a handler by the OpenAPI document.
func checkAnswer(t testing.TB, method, path string, w *httptest.ResponseRecorder) {
	t.Helper()
	path, _, _ = strings.Cut(path, "?")
	if wrong := nonconforming(method, path, w.Code, w.Header(), w.Body.Bytes()); wrong != "" {
		t.Errorf("%s %s: %s", method, path, wrong)
	}
}
