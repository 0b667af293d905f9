package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// callerBySocket is the name in the audit of a caller by socket in this test.
func callerBySocket(t *testing.T) string {
	t.Helper()
	u, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if runtime.GOOS != "linux" {
		return socketUser.Name
	}
	if err != nil {
		return "user " + strconv.Itoa(os.Geteuid())
	}
	return u.Username
}

// Tokens are created, listed and revoked through a server, and the audit shows it.
func TestTokensThroughTheServer(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	ctx := t.Context()
	secret, token, err := s.client.CreateToken(ctx, "ci", operator.RolePublisher, time.Hour)
	if err != nil || !strings.HasPrefix(secret, operator.TokenPrefix) || token.Name != "ci" || token.Role != operator.RolePublisher || token.Until.Sub(token.Created) != time.Hour {
		t.Fatal(token, err)
	}
	all, err := s.client.Tokens(ctx)
	if err != nil || len(all) != 1 || !all[0].Until.Equal(token.Until) || all[0].Name != "ci" || all[0].By != callerBySocket(t) {
		t.Errorf("%+v, %v", all, err)
	}
	_, _, err = s.client.CreateToken(ctx, "ci", operator.RoleViewer, 0)
	wantCode(t, "again", err, host.Refused, "there is a token of that name")
	_, _, err = s.client.CreateToken(ctx, "a\x1b[2J", operator.RoleViewer, 0)
	wantCode(t, "an odd name", err, host.Invalid, "cannot be the name of a token")
	_, _, err = s.client.CreateToken(ctx, "a", "root", 0)
	wantCode(t, "an odd role", err, host.Invalid, "there is no role")
	if err := s.client.RevokeToken(ctx, "ci"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"ci", "", "..", "a/b", "\n"} {
		wantCode(t, name, s.client.RevokeToken(ctx, name), host.NotFound, "there is no")
	}
	rows, err := s.client.Audit(ctx, operator.AuditFilter{Verb: "token"})
	if err != nil || len(rows) != 2 || rows[0].Verb != "token revoke" || rows[1].Verb != "token create" || rows[1].Way != operator.BySocket || rows[1].Request == "" {
		t.Errorf("%+v, %v", rows, err)
	}
	if rows, err := s.client.Audit(ctx, operator.AuditFilter{Limit: 1, Who: callerBySocket(t), Since: rows[0].At}); err != nil || len(rows) != 1 || rows[0].Verb != "token revoke" {
		t.Errorf("%+v, %v", rows, err)
	}
	if rows, err := s.client.Audit(ctx, operator.AuditFilter{Job: "report"}); err != nil || len(rows) != 0 {
		t.Errorf("%+v, %v", rows, err)
	}
}

// A key in a header triggers once.
func TestTriggerWithAKeyThroughTheServer(t *testing.T) {
	t.Parallel()
	s := start(t, "report", "other")
	<-s.host.Ready()
	for i := range 3 {
		got, err := s.client.TriggerOnce(t.Context(), "report", "a key")
		if err != nil || got.Again != (i > 0) {
			t.Errorf("%d: %+v, %v", i, got, err)
		}
	}
	<-s.ran
	_, err := s.client.TriggerOnce(t.Context(), "other", "a key")
	wantCode(t, "for another job", err, host.Refused, "was used for another job")
	_, err = s.client.TriggerOnce(t.Context(), "report", strings.Repeat("x", 256))
	wantCode(t, "a long key", err, host.Invalid, "cannot be an idempotency key")
	rows, err := s.client.Audit(t.Context(), operator.AuditFilter{Verb: "job trigger"})
	if err != nil || len(rows) != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
}

// At the address of a server, a token gives the rights of its role as long as it is valid.
func TestTokensByAddress(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	<-s.host.Ready()
	ctx := t.Context()
	keyring := operator.NewKeyring(s.registry, "wasmjobd", nil)
	var running sync.WaitGroup
	running.Go(func() { keyring.Run(ctx) })
	t.Cleanup(running.Wait)
	check := func(_ context.Context, token string) (operator.Caller, error) { return keyring.Check(token) }
	address := "http://" + serveTCP(t, TLS{}, NewHandler(Options{Operate: s.operate, Authenticate: check}))
	made := func(name string, role operator.Role) *Client {
		secret, _, err := s.client.CreateToken(ctx, name, role, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for again := time.NewTicker(time.Millisecond); ; <-again.C {
			if _, err := keyring.Check(secret); err == nil {
				return at(t, address, secret)
			}
		}
	}
	root, ann, ci := made("root", operator.RoleAdmin), made("ann", operator.RoleOperator), made("ci", operator.RolePublisher)
	if got, err := ann.TriggerOnce(ctx, "report", "a key"); err != nil || got.Again {
		t.Errorf("%+v, %v", got, err)
	}
	<-s.ran
	if got, err := ann.TriggerOnce(ctx, "report", "a key"); err != nil || !got.Again {
		t.Errorf("%+v, %v", got, err)
	}
	wantCode(t, "a publisher triggers", ci.Trigger(ctx, "report"), host.Denied, "ci has the role publisher")
	wantCode(t, "an operator revokes", ann.RevokeToken(ctx, "root"), host.Denied, "ann has the role operator")
	_, _, err := ci.CreateToken(ctx, "mine", operator.RoleAdmin, 0)
	wantCode(t, "a publisher makes an admin", err, host.Denied, "ci has the role publisher")
	_, err = ann.Tokens(ctx)
	wantCode(t, "an operator lists", err, host.Denied, "ann has the role operator")
	_, err = ann.Audit(ctx, operator.AuditFilter{})
	wantCode(t, "an operator reads the audit", err, host.Denied, "ann has the role operator")
	rows, err := root.Audit(ctx, operator.AuditFilter{Verb: "job trigger"})
	if err != nil || len(rows) != 1 || rows[0].Name != "ann" || rows[0].Role != operator.RoleOperator || rows[0].Way != operator.ByToken {
		t.Errorf("%+v, %v", rows, err)
	}
	if err := root.RevokeToken(ctx, "ann"); err != nil {
		t.Fatal(err)
	}
	for again := time.NewTicker(time.Millisecond); ; <-again.C {
		if _, err := ann.Jobs(ctx); err != nil {
			wantCode(t, "a revoked token", err, host.Denied, "it was revoked")
			break
		}
	}
}

// A token that is sent in place of its name, or in a path, does not appear in the log.
func TestMisplacedTokens(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := NewHandler(Options{Log: jsonLog(&log), Operate: onMemory})
	op, err := onMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	secret, _, err := op.CreateToken(t.Context(), "ci", operator.RoleAdmin, 0)
	if err := errors.Join(err, op.Close()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{tokensPath + "/" + secret, jobsPath + "/" + secret, "/" + secret, jobsPath + "/a" + secret + ".x"} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodDelete, path, nil))
	}
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, jobsPath+"?job="+secret, nil))
	body := httptest.NewRequestWithContext(t.Context(), http.MethodPost, tokensPath, strings.NewReader(`{"name":"`+secret+`","role":"viewer"}`))
	body.Header.Set("Content-Type", jsonType)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, body)
	if w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a token that is called like a secret is answered %d", w.Code)
	}
	if got := log.String(); strings.Contains(got, secret[:20]) || strings.Count(got, operator.TokenPrefix) < 4 || !strings.Contains(got, `"path":"/api/v1/jobs/awjd_….x"`) {
		t.Error(got)
	}
}

// A secret is only in the answer to the creation of its token: in no list, audit or log.
func TestSecretIsShownOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	reg := embedded.Memory()
	defer func() { _ = reg.Close() }()
	h := NewHandler(Options{Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), Nodes: true,
		Operate: func(ctx context.Context) (*operator.Operator, error) { return operator.Open(ctx, reg, "wasmjobd") }})
	ask := func(method, path, body string) string {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		if body != "" {
			r.Header.Set("Content-Type", jsonType)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		checkAnswer(t, method, path, w)
		return fmt.Sprint(w.Code, w.Body)
	}
	made := ask(http.MethodPost, tokensPath, `{"name":"ci","role":"admin","valid_for":"1h"}`)
	_, rest, ok := strings.Cut(made, operator.TokenPrefix)
	if !ok {
		t.Fatal(made)
	}
	secret := rest[:20]
	all := ask(http.MethodGet, tokensPath, "") + ask(http.MethodGet, auditPath, "") +
		ask(http.MethodGet, nodesPath+"?path=/wasmjobd.wasmjobd/tokens", "") + ask(http.MethodDelete, tokensPath+"/ci", "") + ask(http.MethodGet, auditPath, "") + log.String()
	if strings.Contains(all, secret) || !strings.Contains(all, `"token revoke"`) {
		t.Errorf("%s is in %s", secret, all)
	}
	for body, want := range map[string]string{
		`{"name":"ci","role":"admin","valid_for":"a day"}`: "422", `{"name":"ci","role":"admin","valid_for":"-1h"}`: "422", `{"name":"ci"}`: "422", `{}`: "422", "": "422",
		`{"name":"ci","role":"admin","secret":"wjd_mine"}`: "400", `{"name":["ci"]}`: "400",
	} {
		if got := ask(http.MethodPost, tokensPath, body); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	for query, want := range map[string]string{"limit=0": "422", "limit=1001": "422", "limit=a": "422", "since=yesterday": "422", "what=a": "400", "limit=1&who=%1b": "200"} {
		if got := ask(http.MethodGet, auditPath+"?"+query, ""); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}
