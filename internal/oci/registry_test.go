package oci

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var listening = regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)

// registryOf starts Debian's docker-registry until the test ends, and returns its address. tls and auth
// are parts of its configuration.
func registryOf(t *testing.T, tls, auth string) string {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("left out: there is no docker-registry, which is a package of Debian")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: info}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: \"127.0.0.1:0\"%s}\n%s", filepath.Join(dir, "data"), tls, auth)
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
	at := registryOf(t, "", "")
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
	// A moved tag does not change a pinned reference.
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
	if _, err := client.Push(t.Context(), pushed, m); err == nil || !strings.Contains(err.Error(), "without a digest") {
		t.Errorf("pushed to a digest: %v", err)
	}
}
