package oci

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// password is that of ann at a registry with accounts, and hashed what the registry has of it.
const (
	password = "open sesame"
	hashed   = "$2a$04$QnGVEH7M4z.dnQeSmpeeh.o6VGVka78bAI6SZfwgrMbVsbErSLkQG" // of bcrypt
)

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

var listening = regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)

// registryOf starts Debian's docker-registry until the test ends, and returns where it is.
func registryOf(t *testing.T, auth string) string {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("left out: there is no docker-registry, which is a package of Debian")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: info}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: \"127.0.0.1:0\"}\n%s", filepath.Join(dir, "data"), auth)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program, "serve", config)
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	found := make(chan string, 1)
	var read bytes.Buffer
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(said)
		for lines.Scan() {
			read.WriteString(lines.Text() + "\n")
			if at := listening.FindStringSubmatch(lines.Text()); at != nil {
				found <- at[1]
			}
		}
		close(found)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		_ = cmd.Wait() // it was killed
	})
	at, ok := <-found
	if !ok {
		t.Fatal("the registry does not listen: ", read.String())
	}
	return at
}

var client = Client{Limit: 1000, MaxSignature: 100}

func parsed(t *testing.T, text string) Reference {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestModuleGoesToARegistryAndBack(t *testing.T) {
	t.Parallel()
	at := registryOf(t, "")
	ref := parsed(t, "oci://"+at+"/team/report:1.4.0")
	m := Module{[]byte("hello"), []byte("signed\nby ann\n")}
	pushed, err := client.Push(t.Context(), ref, m)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := client.Push(t.Context(), ref, m); err != nil || again != pushed {
		t.Errorf("pushed again it is %s, %v, and not %s", again, err, pushed)
	}
	for _, from := range []Reference{ref, pushed, {ref.Host, ref.Repository, "", pushed.Digest}} {
		got, found, err := client.Pull(t.Context(), from)
		if err != nil || !bytes.Equal(got.Wasm, m.Wasm) || !bytes.Equal(got.Signature, m.Signature) || found.Digest != pushed.Digest {
			t.Errorf("%s: %q at %s, %v", from, got, found, err)
		}
	}
	// A tag that is moved does not move what is pinned.
	other, err := client.Push(t.Context(), ref, Module{Wasm: []byte("other")})
	if err != nil || other.Digest == pushed.Digest {
		t.Fatal(other, err)
	}
	if got, _, err := client.Pull(t.Context(), pushed); err != nil || string(got.Wasm) != "hello" {
		t.Errorf("pinned: %q, %v", got.Wasm, err)
	}
	if got, _, err := client.Pull(t.Context(), ref); err != nil || string(got.Wasm) != "other" || len(got.Signature) > 0 {
		t.Errorf("by the tag: %q, %v", got, err)
	}
	small := client
	small.Limit = 4
	if _, _, err := small.Pull(t.Context(), pushed); err == nil || !strings.Contains(err.Error(), "has 5 bytes, the limit is 4") {
		t.Errorf("too large: %v", err)
	}
	if _, _, err := client.Pull(t.Context(), parsed(t, "oci://"+at+"/team/report:2")); err == nil {
		t.Error("there is a tag that nobody has pushed")
	}
	if _, err := client.Push(t.Context(), pushed, m); err == nil || !strings.Contains(err.Error(), "no digest") {
		t.Errorf("pushed to a digest: %v", err)
	}
}

// Who has no credentials, or wrong ones, gets nothing, and no error says what they are.
func TestCredentials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	users := filepath.Join(dir, "users")
	if err := os.WriteFile(users, []byte("ann:"+hashed+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := registryOf(t, "auth: {htpasswd: {realm: modules, path: "+users+"}}\n")
	ref := parsed(t, "oci://"+at+"/report:1")
	file := filepath.Join(dir, "config.json")
	login := func(userAndPassword string) {
		t.Helper()
		text := fmt.Sprintf(`{"auths":{%q:{"auth":%q},"registry.example":{"auth":"eA=="}},"credsStore":"desktop"}`, at, encoded(userAndPassword))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asked := client
	asked.Credential = func(host string) (string, string, error) { return CredentialIn(file, host) }
	if _, err := asked.Push(t.Context(), ref, Module{Wasm: []byte("hello")}); err == nil || !strings.Contains(err.Error(), "credential not found") {
		t.Errorf("without credentials: %v", err)
	}
	login("ann:wrong password")
	if _, err := asked.Push(t.Context(), ref, Module{Wasm: []byte("hello")}); err == nil || strings.Contains(err.Error(), "wrong password") || !strings.Contains(err.Error(), "401") {
		t.Errorf("with wrong ones: %v", err)
	}
	login("ann:" + password)
	if _, err := asked.Push(t.Context(), ref, Module{Wasm: []byte("hello")}); err != nil {
		t.Error(err)
	}
	if got, _, err := asked.Pull(t.Context(), ref); err != nil || string(got.Wasm) != "hello" {
		t.Errorf("%q, %v", got.Wasm, err)
	}
	if _, _, err := CredentialIn(file, "registry.example"); err == nil || strings.Contains(err.Error(), "eA==") {
		t.Errorf("no user: %v", err)
	}
	if user, _, err := CredentialIn(file, "other.example"); user != "" || err != nil {
		t.Errorf("another registry: %q, %v", user, err)
	}
	if user, _, err := CredentialIn(filepath.Join(dir, "none"), at); user != "" || err != nil {
		t.Errorf("no file: %q, %v", user, err)
	}
}
