package admin

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/operator"
)

//go:generate go test -run "^(TestPage|TestOpenAPI)$" -update .

var update = flag.Bool("update", false, "write the page of the API anew")

// TestPage: docs/API.md matches the table of routes.
func TestPage(t *testing.T) {
	t.Parallel()
	isGenerated(t, "../../docs/API.md", page())
}

// isGenerated compares a generated file with the wanted text or, with -update, writes it.
func isGenerated(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the routes say: run make generate (%v)", name, err)
	}
}

// TestOpenAPI: docs/openapi.json matches the table of routes, and the answer of a server.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	isGenerated(t, "../../docs/openapi.json", openAPI(routes()))
	w := answered(t, NewHandler(Options{Operate: onMemory}), http.MethodGet, openAPIPath, "", "")
	if w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), openAPI(routes())) {
		t.Errorf("answered %d: %s", w.Code, w.Body)
	}
}

func page() []byte {
	var b bytes.Buffer
	b.WriteString("# API for operators\n\nGenerated from the routes of host/admin by `make generate`; do not edit. [OPERATIONS](OPERATIONS.md#the-registry-inside) says " +
		"who may use it, and how answers look. A request is sent as in `curl --unix-socket data/admin/socket http://localhost/api/v1/jobs`. A user of the socket has every role; [at an address](OPERATIONS.md#at-an-address) the token decides the role.\n\n" +
		"| request | role | query | body | what it does |\n|---|---|---|---|---|\n")
	for _, r := range sortedRoutes() {
		var query []string
		for _, p := range r.queried() {
			query = append(query, "`"+p.name+"`")
		}
		fmt.Fprintf(&b, "| `%s %s` | %s | %s | %s | %s |\n", r.method, r.path, r.role(), strings.Join(query, ", "), membersTaken(r.does), r.says)
	}
	return b.Bytes()
}

// membersTaken names the members of a body.
func membersTaken(a action) string {
	if a.takesType != "" {
		return a.takesType
	}
	var all []string
	if a.takes != nil {
		for _, f := range reflect.VisibleFields(a.takes) {
			all = append(all, "`"+f.Tag.Get("json")+"`")
		}
	}
	return strings.Join(all, ", ")
}

func sortedRoutes() []route {
	return slices.SortedFunc(slices.Values(routes()), func(x, y route) int {
		return cmp.Or(strings.Compare(x.path, y.path), strings.Compare(x.method, y.method))
	})
}

// Every route says what it does, who may send it, and what it answers.
func TestRoutesAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range routes() {
		name := r.method + " " + r.path
		switch {
		case seen[name]:
			t.Errorf("%s stands twice", name)
		case r.says == "" || strings.HasSuffix(r.says, ".") || r.does.do == nil || r.does.status == 0:
			t.Errorf("%s is not complete: %+v", name, r)
		case !r.writes() && (r.right == operator.Operate || r.right == operator.Publish):
			t.Errorf("%s only reads, and needs the role %s", name, r.role())
		case r.writes() && r.right == operator.View && r.path != sessionPath: // all viewers may sign in
			t.Errorf("%s writes, and a viewer may send it", name)
		}
		seen[name] = true
	}
}
