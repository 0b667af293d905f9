package admin

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// presented returns the headers of each kind of caller, with the role that they give. A token
// and a session expire by later.
func presented(t *testing.T, c *cluster, later func()) func() map[string]struct {
	headers []string
	role    operator.Role
} {
	t.Helper()
	type caller = struct {
		headers []string
		role    operator.Role
	}
	bearing := func(token string) caller { return caller{headers: []string{"Authorization: Bearer " + token}} }
	tokens := map[operator.Role]string{}
	for _, role := range operator.Roles() {
		tokens[role] = c.token(t, "a-"+string(role), role, 0)
	}
	revoked, brief := c.token(t, "revoked", operator.RoleAdmin, 0), c.token(t, "brief", operator.RoleAdmin, time.Hour)
	lost, worn := c.signIn(t, revoked), c.signIn(t, brief)
	old, left := c.signIn(t, tokens[operator.RoleAdmin]), c.signIn(t, tokens[operator.RoleAdmin])
	if err := errors.Join(c.op.RevokeToken(t.Context(), "revoked"), c.op.SignOut(t.Context(), left.Secret)); err != nil {
		t.Fatal(err)
	}
	later()
	other := strings.Replace(tokens[operator.RoleAdmin], "wjd_", "wjd_a", 1)
	return func() map[string]caller {
		all := map[string]caller{
			"nothing": {}, "a mistyped token": bearing(other), "a wrong token": bearing("wrong"), "an expired token": bearing(brief), "a revoked token": bearing(revoked),
			"the secret of a session as a token":   bearing(c.signIn(t, tokens[operator.RoleAdmin]).Secret),
			"a token as a cookie":                  {headers: cookied(operator.SignedIn{Secret: tokens[operator.RoleAdmin]})},
			"a wrong cookie":                       {headers: cookied(operator.SignedIn{Secret: "wrong"})},
			"the session of a revoked token":       {headers: cookied(lost)},
			"the session of an expired token":      {headers: cookied(worn)},
			"an expired session":                   {headers: cookied(old)},
			"a session that was signed out":        {headers: cookied(left)},
			"a wrong token beside a right session": {headers: append(cookied(c.signIn(t, tokens[operator.RoleAdmin])), "Authorization: Bearer wrong")},
		}
		for role, token := range tokens {
			one := bearing(token)
			one.role = role
			all["the token of a "+string(role)] = one
			all["the session of a "+string(role)] = caller{cookied(c.signIn(t, token)), role}
		}
		return all
	}
}

// Each route is answered only for callers whose role has the right, with a token or a session
// of the cluster.
func TestEveryRouteForEveryCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := embedded.Memory()
		c, stop := newCluster(t, r)
		callers := presented(t, c, func() {
			time.Sleep(operator.SessionLife) // of virtual time
			synctest.Wait()
		})
		for i, one := range routes() {
			h, asked := guarded(Options{Operate: c.operate, Authenticate: c.authenticate, Sessions: c.keyring})
			path, n := filledIn.Replace(one.path), 0
			for what, caller := range callers() {
				want := http.StatusUnauthorized
				switch {
				case one.path == healthPath, caller.headers == nil && isOpen(one.path), caller.role.May(one.right):
					want = 0
				case caller.role != "":
					want = http.StatusForbidden
				}
				n++
				before := asked.Load()
				w := sent(t, h, one.method, path, fmt.Sprintf("10.0.%d.%d:1", i, n), caller.headers...)
				reached := asked.Load() > before
				refused := w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden || w.Code == http.StatusServiceUnavailable
				if want != 0 && (w.Code != want || reached) || want == 0 && refused {
					t.Errorf("%s %s with %s is answered %d %s, want %d; it reached what is behind: %v", one.method, path, what, w.Code, w.Body, want, reached)
				}
				if w.Code == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("%s %s: a refusal does not say how to show a token", one.method, path)
				}
			}
		}
		stop()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// While tokens cannot be checked, only the routes for probes are answered.
func TestEveryRouteWithoutARegistry(t *testing.T) {
	t.Parallel()
	h, asked := guarded(Options{Sessions: operator.NewKeyring(embedded.Memory(), "wasmjobd", nil)})
	in, err := func() (operator.SignedIn, error) {
		c, stop := newCluster(t, embedded.Memory())
		defer stop()
		return c.op.SignIn(t.Context(), c.token(t, "ann", operator.RoleAdmin, 0))
	}()
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range routes() {
		for j, headers := range [][]string{{"Authorization: Bearer nobody-knows"}, cookied(in)} {
			w := sent(t, h, one.method, filledIn.Replace(one.path), fmt.Sprintf("10.0.%d.%d:1", i, j), headers...)
			if (w.Code != http.StatusServiceUnavailable || asked.Load() > 0) != isOpen(one.path) {
				t.Errorf("%s %s is answered %d %s", one.method, one.path, w.Code, w.Body)
			}
		}
	}
}
