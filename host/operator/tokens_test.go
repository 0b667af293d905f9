package operator

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// memory is a registry that is closed when the test ends.
func memory(t *testing.T) registry.Registry {
	t.Helper()
	reg := embedded.Memory()
	t.Cleanup(func() {
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
	return reg
}

// newToken creates a token.
func newToken(t *testing.T, o *Operator, name string, role Role, life time.Duration) string {
	t.Helper()
	secret, token, err := o.CreateToken(t.Context(), name, role, life)
	if err != nil || token.Name != name || token.Role != role {
		t.Fatal(token, err)
	}
	return secret
}

// keyring reads the tokens of a registry until the test ends.
func keyring(t *testing.T, r registry.Registry) *Keyring {
	t.Helper()
	k := NewKeyring(r, "jobs", nil)
	var running sync.WaitGroup
	running.Go(func() { k.Run(t.Context()) })
	t.Cleanup(running.Wait)
	return k
}

// wantToken checks the result of a Keyring for a token: its name and role, or the code of an
// error.
func wantToken(t *testing.T, k *Keyring, what, token, want string) {
	t.Helper()
	c, err := k.Check(token)
	got := c.Name + " " + string(c.Role)
	if e, ok := errors.AsType[*host.Error](err); ok {
		got = string(e.Code)
		if errors.Is(err, ErrToken) != (e.Code == host.Denied) {
			t.Errorf("%s: %v", what, err)
		}
		if len(token) > 12 && strings.Contains(err.Error(), token[4:12]) {
			t.Errorf("%s: the error has a part of the token: %v", what, err)
		}
	}
	if got != want {
		t.Errorf("%s: %s, want %s (%v)", what, got, want, err)
	}
}

// A token gives the rights of its role on every server, until it is revoked or expires.
func TestTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := memory(t)
		o := operate(t, reg)
		o.As(Author{Name: "root", Way: BySocket})
		k := keyring(t, reg)
		synctest.Wait()
		ann := newToken(t, o, "ann", RoleViewer, 0)
		short := newToken(t, o, "ci", RoleAdmin, time.Hour)
		synctest.Wait()
		wantToken(t, k, "ann's", ann, "ann viewer")
		wantToken(t, k, "of an hour", short, "ci admin")
		_, _, err := o.CreateToken(t.Context(), "ann", RoleAdmin, 0)
		wantCode(t, "a name that is taken", err, host.Refused)
		wantToken(t, k, "it is as it was", ann, "ann viewer")

		time.Sleep(time.Hour - 1)
		wantToken(t, k, "nearly an hour later", short, "ci admin")
		time.Sleep(1 * time.Nanosecond)
		wantToken(t, k, "an hour later", short, string(host.Denied))
		again := newToken(t, o, "ci", RoleOperator, time.Hour)
		synctest.Wait()
		wantToken(t, k, "the next of its name", again, "ci operator")
		wantToken(t, k, "the one before", short, string(host.Denied))

		if err := o.RevokeToken(t.Context(), "ann"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		wantToken(t, k, "revoked", ann, string(host.Denied))
		wantCode(t, "revoke again", o.RevokeToken(t.Context(), "ann"), host.NotFound)
		wantCode(t, "revoke what is no name", o.RevokeToken(t.Context(), "\x1b[2J"), host.NotFound)

		time.Sleep(25*time.Hour - time.Second)
		list, err := o.Tokens(t.Context())
		if err != nil || len(list) != 1 || !list[0].Expired {
			t.Errorf("within a day: %+v, %v", list, err)
		}
		time.Sleep(2 * lookAgain)
		if list, err := o.Tokens(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("after it: %+v, %v", list, err)
		}
	})
}

// Neither the registry nor the audit has anything that works as a token.
func TestStolenRegistryOpensNothing(t *testing.T) {
	t.Parallel()
	reg := memory(t)
	o := operate(t, reg)
	secret := newToken(t, o, "ann", RoleAdmin, 0)
	if !regexp.MustCompile(`^wjd_[a-z2-7]{58}$`).MatchString(secret) {
		t.Errorf("a token is %s", secret)
	}
	var walk func(path string)
	dump := ""
	walk = func(path string) {
		n, err := o.Node(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		dump += path + string(n.Data) + "\n"
		for _, name := range n.Children {
			walk(strings.TrimSuffix(path, "/") + "/" + name)
		}
	}
	walk("/")
	if !strings.Contains(dump, `"ann"`) || strings.Contains(dump, secret[4:20]) {
		t.Error(dump)
	}
	hash := regexp.MustCompile(`[0-9a-f]{64}`).FindString(dump)
	k := keyring(t, reg)
	for _, stolen := range []string{hash, TokenPrefix + hash, TokenPrefix + hash[:58], writeSecret([]byte(hash)[:secretBytes])} {
		if _, err := k.Check(stolen); err == nil {
			t.Errorf("%s is accepted", stolen)
		}
	}
}

// A malformed token is refused without reading the stored ones.
func TestMistypedTokens(t *testing.T) {
	t.Parallel()
	secret := newSecret()
	for i := range secret {
		other := []byte(secret)
		other[i]++
		if _, err := hashOf(string(other)); !errors.Is(err, ErrToken) {
			t.Errorf("%s for %s: %v", other, secret, err)
		}
	}
	for _, token := range []string{"", "wjd_", secret[1:], secret + "a", secret + "\n", " " + secret, strings.ToUpper(secret), "WJD_" + secret[4:], "wjd_" + strings.Repeat("a", 58), strings.Repeat("x", 1<<20)} {
		if _, err := hashOf(token); !errors.Is(err, ErrToken) || len(err.Error()) > 200 {
			t.Errorf("%.80q: %v", token, err)
		}
	}
	if _, err := hashOf(secret); err != nil || newSecret() == secret {
		t.Error(secret, err)
	}
}

// A log shows that there was a token, but no part of it.
func TestHiddenTokens(t *testing.T) {
	t.Parallel()
	secret := newSecret()
	for text, want := range map[string]string{
		"":                             "",
		secret:                         "wjd_…",
		"a " + secret[:40] + " b":      "a wjd_… b",
		"wjd_" + secret + "/" + secret: "wjd_wjd_…/wjd_…",
		"job wjd_report":               "job wjd_report",
	} {
		if got := HideTokens(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// A token is created, or revoked, exactly once even if the answer is lost.
func TestTokenWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	reg := memory(t)
	o := operate(t, reg)
	direct := o.session
	o.session = &forgetful{Session: direct, least: 2}
	secret := newToken(t, o, "ann", RoleViewer, 0)
	if !o.session.(*forgetful).done {
		t.Error("the answer was not lost")
	}
	if _, err := hashOf(secret); err != nil {
		t.Error(err)
	}
	if list, err := o.Tokens(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	o.session = &forgetful{Session: direct, least: 2}
	if err := o.RevokeToken(t.Context(), "ann"); err != nil || !o.session.(*forgetful).done {
		t.Error(err)
	}
	if list, err := o.Tokens(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// There are at most 1,000 tokens, with readable names, known roles and bounded lifetimes.
func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	reg := memory(t)
	o := operate(t, reg)
	for i := range 1000 {
		newToken(t, o, fmt.Sprint("t", i), RoleViewer, 0)
	}
	_, _, err := o.CreateToken(t.Context(), "more", RoleViewer, 0)
	wantCode(t, "one more", err, host.Refused)
	if err := o.RevokeToken(t.Context(), "t7"); err != nil {
		t.Error(err)
	}
	newToken(t, o, "more", RoleViewer, 0)
	if list, err := o.Tokens(t.Context()); err != nil || len(list) != 1000 {
		t.Error(len(list), err)
	}
	for _, c := range []struct {
		name string
		role Role
		life time.Duration
	}{{"a\x1b[2J", RoleViewer, 0}, {"", RoleViewer, 0}, {"a", "root", 0}, {"a", "", 0}, {"a", RoleViewer, -1}, {"a", RoleViewer, time.Second}, {"a", RoleViewer, 11 * 366 * 24 * time.Hour}} {
		secret, _, err := o.CreateToken(t.Context(), c.name, c.role, c.life)
		wantCode(t, fmt.Sprintf("%+v", c), err, host.Invalid)
		if secret != "" {
			t.Errorf("%+v: a secret", c)
		}
	}
}

// With a damaged value, no token is accepted, and the value is not overwritten.
func TestDamagedTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := memory(t)
		o := operate(t, reg)
		k := keyring(t, reg)
		secret := newToken(t, o, "ann", RoleAdmin, 0)
		synctest.Wait()
		wantToken(t, k, "before", secret, "ann admin")
		n, err := o.Node(t.Context(), o.tree.Tokens())
		if err != nil {
			t.Fatal(err)
		}
		put(t, o, registry.Set, o.tree.Tokens(), strings.Replace(string(n.Data), `"v":1`, `"v":2`, 1))
		synctest.Wait()
		wantToken(t, k, "damaged", secret, string(host.Unavailable))
		_, _, err = o.CreateToken(t.Context(), "bob", RoleAdmin, 0)
		wantCode(t, "create", err, host.Refused)
		_, err = o.Tokens(t.Context())
		wantCode(t, "list", err, host.Refused)
		put(t, o, registry.Set, o.tree.Tokens(), string(n.Data))
		time.Sleep(time.Minute)
		wantToken(t, k, "mended", secret, "ann admin")
	})
}

// One of the servers that start together gets the first token, and no later server does.
func TestFirstToken(t *testing.T) {
	t.Parallel()
	reg := memory(t)
	secrets := make(chan string, 5)
	var all sync.WaitGroup
	for range cap(secrets) {
		o := operate(t, reg)
		all.Go(func() {
			var kept string
			created, err := o.FirstToken(t.Context(), func(secret string) error {
				kept = secret
				return nil
			})
			if err != nil || created && kept == "" {
				t.Errorf("created: %v, kept: %.4s…, %v", created, kept, err)
			}
			if !created {
				kept = ""
			}
			secrets <- kept
		})
	}
	all.Wait()
	first := 0
	o := operate(t, reg)
	stored, _, err := readTokens(t.Context(), o.session, o.tree)
	if err != nil || len(stored.All) != 1 {
		t.Fatal(stored, err)
	}
	for range cap(secrets) {
		if secret := <-secrets; secret != "" {
			first++
			if hash, err := hashOf(secret); err != nil || hex.EncodeToString(hash[:]) != stored.All[0].Hash {
				t.Errorf("what was kept is not the token: %v", err)
			}
		}
	}
	if err := o.RevokeToken(t.Context(), firstToken); err != nil || first != 1 {
		t.Errorf("%d are first, %v", first, err)
	}
	if created, err := o.FirstToken(t.Context(), func(string) error { return errors.New("it is not asked to keep one") }); err != nil || created {
		t.Errorf("after all were revoked: created %v, %v", created, err)
	}
}

// A first token is not created if its secret cannot be kept.
func TestFirstTokenThatIsNotKept(t *testing.T) {
	t.Parallel()
	o := operate(t, memory(t))
	if created, err := o.FirstToken(t.Context(), func(string) error { return errors.New("the disk is full") }); err == nil || created {
		t.Errorf("created %v, %v", created, err)
	}
	if all, err := o.Tokens(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("there are %+v, %v", all, err)
	}
	if created, err := o.FirstToken(t.Context(), func(string) error { return nil }); err != nil || !created {
		t.Errorf("with room again: created %v, %v", created, err)
	}
}

func FuzzToken(f *testing.F) {
	f.Add(newSecret())
	f.Add("wjd_" + strings.Repeat("a", 58))
	f.Fuzz(func(t *testing.T, token string) {
		if hash, err := hashOf(token); err == nil && (len(token) != 62 || !strings.HasPrefix(token, TokenPrefix)) {
			t.Errorf("%q: %x", token, hash)
		}
	})
}
