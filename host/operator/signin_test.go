package operator

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/registry"
)

// A session ends with its token, and another token of the same name does not revive it.
func TestSessionsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := memory(t)
		o, k := operate(t, reg), keyring(t, reg)
		want := func(what, secret string, code host.Code) {
			t.Helper()
			synctest.Wait()
			c, err := k.Session(secret)
			if code != "" {
				wantCode(t, what, err, code)
			} else if err != nil || c.Name != "ann" || !c.Until.After(time.Now()) || c.Until.After(time.Now().Add(SessionLife)) {
				t.Errorf("%s: %+v: %v", what, c, err)
			}
		}
		signIn := func(token string) string {
			t.Helper()
			in, err := o.SignIn(t.Context(), token)
			if err != nil {
				t.Fatal(err)
			}
			return in.Secret
		}
		token := newToken(t, o, "ann", RoleAdmin, 0)
		first, second := signIn(token), signIn(token)
		want("at first", first, "")
		if err := o.RevokeToken(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		want("its token is revoked", first, host.Denied)
		_, err := o.SignIn(t.Context(), token)
		wantCode(t, "sign in with it", err, host.Denied)
		token = newToken(t, o, "ann", RoleViewer, time.Hour)
		want("there is a token of the same name", second, host.Denied)

		third := signIn(token)
		want("of an hour", third, "")
		if n, err := o.session.Read(t.Context(), o.tree.Sessions()); err != nil || n.Stat.Version != 2 {
			t.Errorf("%s, %v", n.Data, err)
		} else if all, _, err := readSessions(t.Context(), o.session, o.tree); err != nil || len(all.All) != 1 {
			t.Errorf("those of the token before are still there: %+v, %v", all, err)
		}
		time.Sleep(time.Hour)
		want("after it", third, host.Denied)
		put(t, o, registry.Set, o.tree.Sessions(), `{"v":2}`)
		want("of another release", third, host.Unavailable)
		if _, err := o.SignIn(t.Context(), newToken(t, o, "bob", RoleViewer, 0)); err == nil {
			t.Error("what another release wrote is overwritten")
		}
		if rows, err := o.Audit(t.Context(), AuditFilter{Verb: "sign"}); err != nil || len(rows) != 0 {
			t.Errorf("the audit has sign-ins: %+v, %v", rows, err)
		}
	})
}
