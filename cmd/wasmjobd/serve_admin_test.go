package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/admin"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

const adminTOML = "[admin]\nlisten = \"127.0.0.1:0\"\n[modules.says]\nsource = \"file:says.wasm\"\n[jobs.quick]\nmodule = \"says\"\ncron = \"* * * * * ?\"\n"

// addressOf waits until a server can be reached at an address, and returns it.
func addressOf(t *testing.T, d *daemon) string {
	t.Helper()
	const said = "callers with a token reach this server"
	<-d.errors.await(said)
	found := regexp.MustCompile(said + `","address":"([^"]+)"`).FindStringSubmatch(d.errors.String())
	if found == nil {
		t.Fatalf("no address in:\n%s", d.errors)
	}
	return "http://" + found[1]
}

// asked runs a verb in a place without a configuration.
func asked(t *testing.T, env []string, want int, args ...string) string {
	t.Helper()
	var out, say bytes.Buffer
	if code := run(t.Context(), args, append(os.Environ(), env...), strings.NewReader(""), &out, &say); code != want {
		t.Errorf("wasmjobd %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, &out, &say)
	}
	return out.String()
}

// A new server stores a token in a file, with which verbs can use its address.
func TestVerbsByAddress(t *testing.T) {
	t.Parallel()
	dir := serveFolder(t, adminTOML)
	d := startServe(t, dir)
	address := addressOf(t, d)
	<-d.errors.await("the first one permits everything")
	d.until(t, func(e eventLine) bool { return e.Event == "end" })
	token := filepath.Join(dir, "data", firstToken)
	by := func(code int, args ...string) string {
		t.Helper()
		return asked(t, nil, code, append(args, "--address", address, "--token-file", token)...)
	}
	if out := by(exitOK, "job", "list"); !strings.Contains(out, "quick") {
		t.Errorf("listed:\n%s", out)
	}
	by(exitOK, "job", "pause", "quick")
	if out := by(exitOK, "job", "show", "quick", "-o", "json"); !strings.Contains(out, `"paused": true`) {
		t.Errorf("shown:\n%s", out)
	}
	by(exitOK, "job", "resume", "quick")
	by(exitOK, "server", "list")
	historyByAddress(t, by)
	by(exitOK, "module", "show", "quick")
	if out := by(exitOK, "audit", "list"); !regexp.MustCompile(`(?m) first +token +job pause +quick +running -> paused$`).MatchString(out) || !strings.Contains(out, "token create") {
		t.Errorf("the audit:\n%s", out)
	}
	if out := by(exitOK, "token", "list"); !regexp.MustCompile(`(?m)^first +admin .* serve +never$`).MatchString(out) {
		t.Errorf("tokens:\n%s", out)
	}
	by(exitNotFound, "job", "pause", "quack")
	by(exitUsage, "job", "list", "--config", filepath.Join(dir, "jobs.toml"))
	asked(t, nil, exitUsage, "job", "list", "--address", address)
	asked(t, nil, exitInvalid, "job", "list", "--address", "http://10.0.0.7:8680", "--token-file", token)
	asked(t, []string{addressVariable + "=" + address, tokenVariable + "=" + token}, exitOK, "job", "list")
	wrong := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(wrong, []byte("not-a-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked(t, nil, exitForbidden, "job", "list", "--address", address, "--token-file", wrong)
	text, err := os.ReadFile(token)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(d.errors.String(), strings.TrimSpace(string(text))) {
		t.Error("the log has the token")
	}
	if info, err := os.Stat(token); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the token: %v, %v", info, err)
	}
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.ExitStatus() != exitOK {
		t.Errorf("ended by %v; standard error:\n%s", s, d.errors)
	}

	// The token stays, and no other is created.
	d = startServe(t, dir)
	address = addressOf(t, d)
	<-d.errors.await(`"ready"`)
	by(exitOK, "job", "list")
	if again, err := os.ReadFile(token); err != nil || string(again) != string(text) {
		t.Errorf("there is a new token: %v", err)
	}
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.ExitStatus() != exitOK || strings.Contains(d.errors.String(), "the first one permits everything") {
		t.Errorf("ended by %v; standard error:\n%s", s, d.errors)
	}
}

// historyByAddress reads rows of the job quick, whose file no verb can read here.
func historyByAddress(t *testing.T, by func(int, ...string) string) {
	t.Helper()
	var listed struct {
		Rows []struct{ Run string }
	}
	// The history has a row a moment after its event.
	await(t, func() bool {
		text := by(exitOK, "history", "list", "--job", "quick", "--state", "succeeded", "--limit", "1", "-o", "json")
		if err := json.Unmarshal([]byte(text), &listed); err != nil {
			t.Fatal(err)
		}
		return len(listed.Rows) == 1
	})
	run := "quick/0/" + listed.Rows[0].Run
	if out := by(exitOK, "history", "show", run); !strings.Contains(out, "succeeded") || !strings.Contains(out, "\n  log") || strings.Contains(out, "not kept") {
		t.Errorf("%s is shown as:\n%s", run, out)
	}
	ms, err := strconv.ParseInt(listed.Rows[0].Run, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	by(exitOK, "history", "show", "quick/0/"+time.UnixMilli(ms).UTC().Format(time.RFC3339))
	by(exitOK, "history", "list", "--job", "quick", "--item", "0")
	by(exitNotFound, "history", "show", "quick/0/1")
	for _, filter := range [][]string{nil, {"--since", "1h"}, {"--job", "quick", "--cause", "schedule"}} {
		if out := by(exitOK, append([]string{"history", "list"}, filter...)...); !strings.Contains(out, "succeeded") {
			t.Errorf("%s lists:\n%s", filter, out)
		}
	}
	if out := by(exitOK, "history", "list", "--until", "2001-01-01T00:00:00Z"); strings.Contains(out, "quick") {
		t.Errorf("listed of long ago:\n%s", out)
	}
	by(exitUsage, "history", "list", "--job", "quick", "--limit", "1001")
	by(exitInvalid, "history", "list", "--job", "quick", "--cursor", "x")
}

// A server whose address is taken runs its jobs, reports the missing address on its socket,
// ends when asked to, and can be reached as soon as the address is free.
func TestServeAtATakenAddress(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken := l.Addr().String()
	dir := serveFolder(t, strings.Replace(adminTOML, "127.0.0.1:0", taken, 1))
	begin := func() *daemon {
		t.Helper()
		d := startServe(t, dir)
		<-d.errors.await("while another program has its address")
		d.until(t, func(e eventLine) bool { return e.Event == "end" })
		return d
	}
	leave := func(d *daemon) {
		t.Helper()
		if err := d.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if s := d.end(t); s.ExitStatus() != exitOK {
			t.Errorf("ended by %v; standard error:\n%s", s, d.errors)
		}
	}
	leave(begin())
	d := begin()
	bySocket := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "data", "admin", "socket"))
	}}
	ready := func() string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/readyz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := bySocket.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := ready(); !strings.Contains(got, taken+": bind: address already in use") {
		t.Errorf("/readyz says %s", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if again := addressOf(t, d); again != "http://"+taken {
		t.Errorf("it is reached at %s, not %s", again, taken)
	}
	<-d.errors.await("the first one permits everything")
	if out := asked(t, nil, exitOK, "job", "list", "--address", "http://"+taken, "--token-file", filepath.Join(dir, "data", firstToken)); !strings.Contains(out, "quick") {
		t.Errorf("listed:\n%s", out)
	}
	if got := ready(); strings.Contains(got, "in use") {
		t.Errorf("/readyz says %s", got)
	}
	leave(d)
}

// unclosed is a registry whose sessions cannot be closed.
type unclosed struct{ registry.Registry }

type unclosedSession struct{ registry.Session }

func (r unclosed) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := r.Registry.Open(ctx, on)
	return unclosedSession{s}, err
}

func (s unclosedSession) Close() error {
	return errors.Join(s.Session.Close(), errors.New("the connection is gone"))
}

// The first token cannot be created again, so it is stored whatever happens to its session.
func TestFirstTokenIsKept(t *testing.T) {
	t.Parallel()
	dir, reg := t.TempDir(), embedded.Memory()
	operate := func(ctx context.Context) (*operator.Operator, error) {
		return operator.Open(ctx, unclosed{reg}, "wasmjobd")
	}
	keepFirstToken(t.Context(), operate, dir, slog.New(slog.DiscardHandler))
	info, err := os.Stat(filepath.Join(dir, firstToken))
	if err != nil || info.Mode() != 0o600 {
		t.Fatal(info, err)
	}
	if token, err := admin.ReadToken(filepath.Join(dir, firstToken)); err != nil || !strings.HasPrefix(token, operator.TokenPrefix) {
		t.Errorf("%.4s…, %v", token, err)
	}
}

// A registry that does not answer at first delays the first token, and the log says so once.
func TestFirstTokenIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir, reg, tries := t.TempDir(), embedded.Memory(), 0
		var said bytes.Buffer
		keepFirstToken(t.Context(), func(ctx context.Context) (*operator.Operator, error) {
			if tries++; tries < 4 {
				return nil, errors.New("no server answers")
			}
			return operator.Open(ctx, reg, "wasmjobd")
		}, dir, slog.New(slog.NewJSONHandler(&said, nil)))
		if _, err := admin.ReadToken(filepath.Join(dir, firstToken)); err != nil || tries != 4 || strings.Count(said.String(), "no server answers") != 1 {
			t.Errorf("after %d tries: %v\n%s", tries, err, &said)
		}
	})
}

// Other servers reach a server that listens on all addresses at its own.
func TestWhereOthersReachAServer(t *testing.T) {
	t.Parallel()
	for listens, want := range map[string]string{
		"127.0.0.1:8680": "https://127.0.0.1:8680", "0.0.0.0:8680": "https://10.0.0.7:8680", "[::]:8680": "https://10.0.0.7:8680", "[fd00::1]:8680": "https://[fd00::1]:8680",
	} {
		a := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(listens))
		if got := urlOf(reached(a, "10.0.0.7"), config.AdminTLS{Cert: "c"}); got != want {
			t.Errorf("one at %s is asked at %s, want %s", listens, got, want)
		}
	}
}
