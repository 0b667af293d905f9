package admin

import (
	"errors"
	"net/http"
	"testing"

	"github.com/wasmjob/wasmjob/host/operator"
)

// Only servers of the cluster can connect under the name for servers.
func TestConnectionsOfServers(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	authorities, files := newAuthority(t), filesIn(t.TempDir())
	authorities.write(t, "server", files)
	one := startPeer(t, s.registry, "10.0.0.1", files)
	two := startPeer(t, s.registry, "10.0.0.2", files)
	acquaint(t, one.token(t, "ann", operator.RoleViewer, 0), one, two)
	to, err := two.keyring.Own()
	outsider := rings(t, 1)[0]
	own, unknown := one.keyring.Own()
	if err := errors.Join(err, unknown); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		own  operator.OwnServer
		to   operator.Server
		want bool
	}{
		"a server":                          {own, to.Server, true},
		"nobody in the cluster":             {outsider.own, to.Server, false},
		"a server that expects another one": {own, own.Server, false},
	} {
		config, err := identityTo(tt.own, tt.to)
		if err != nil {
			t.Fatal(err)
		}
		with := &http.Transport{DisableKeepAlives: true, TLSClientConfig: config}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, two.at+healthPath, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := with.RoundTrip(r)
		if err == nil {
			_ = answer.Body.Close()
		}
		if (err == nil) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
