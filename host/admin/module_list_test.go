package admin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
)

// The client joins the pages of a list of modules.
func TestModulesInPages(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	var held []host.HeldModule
	for i := range 2*maxPage + 1 {
		held = append(held, host.HeldModule{Digest: fmt.Sprintf("%064x", i), Size: 1})
	}
	h := NewHandler(Options{Operate: s.operate, Held: func() ([]host.HeldModule, error) { return held, nil }})
	w := answered(t, h, http.MethodGet, modulesPath+"?limit=2&cursor="+held[4].Digest, "", "")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"next":"`+held[6].Digest) || !strings.Contains(w.Header().Get("Link"), held[6].Digest) ||
		strings.Count(w.Body.String(), `"uses":0`) != 2 {
		t.Errorf("%d %s %s", w.Code, w.Header(), w.Body)
	}
	if w = answered(t, h, http.MethodGet, modulesPath+"?limit=0", "", ""); problemIn(t, w).Code != codeBadRequest {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	c, err := At(server.URL, "token", ClientTLS{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Modules(t.Context(), nil)
	if err != nil || len(list.Modules) < len(held) || list.Modules[0].Digest != held[0].Digest {
		t.Errorf("%d modules, %v", len(list.Modules), err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
