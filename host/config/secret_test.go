package config

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretsAreFetched(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"main.toml":      "include = ['sub/more.toml']\n[host.secrets]\na = 'env:A'\nb = 'file:keys/b'\n",
		"sub/more.toml":  "[host.secrets]\nc = 'file:c'\nd = 'file:d'\n",
		"keys/b":         "one\ntwo\n",
		"sub/c":          "no line end",
		"sub/d":          "crlf\r\n",
		"keys/c":         "wrong",
		"sub/keys/wrong": "wrong",
	})
	f, err := Load([]string{filepath.Join(dir, "main.toml")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Secrets([]string{"A=x=y"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "x=y", "b": "one\ntwo", "c": "no line end", "d": "crlf"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestSecretsThatAreNotThere(t *testing.T) {
	t.Parallel()
	const value = "hunter2"
	dir := write(t, map[string]string{
		"t.toml": `[host.secrets]
absent = "env:ABSENT"
blank = "env:BLANK"
dir = "file:."
empty = "file:empty"
long = "file:long"
longer = "env:LONG"
nowhere = "file:nowhere"
`,
		"empty": "\n",
		"long":  strings.Repeat(value, MaxSecret/len(value)+1),
	})
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := Load([]string{filepath.Join(dir, "t.toml")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	values, err := f.Secrets([]string{"BLANK=", "LONG=" + strings.Repeat(value, MaxSecret/len(value)+1)})
	var ps Problems
	if !errors.As(err, &ps) || values != nil {
		t.Fatalf("got %v, %v", values, err)
	}
	const hint = " (correct that, or remove the secret)"
	want := []string{
		"t.toml:2:10: host.secrets.absent: the variable ABSENT is not set" + hint,
		"t.toml:3:9: host.secrets.blank: the variable BLANK is not set" + hint,
		"t.toml:4:7: host.secrets.dir: the file . is not a regular file" + hint,
		"t.toml:5:9: host.secrets.empty: the file empty is empty" + hint,
		"t.toml:6:8: host.secrets.long: the file long has more than 65536 bytes" + hint,
		"t.toml:7:10: host.secrets.longer: the variable LONG has more than 65536 bytes" + hint,
		"t.toml:8:11: host.secrets.nowhere: the file nowhere cannot be read: no such file or directory" + hint,
	}
	text := strings.ReplaceAll(ps.Error(), dir+"/", "")
	if d := cmp.Diff(want, strings.Split(strings.ReplaceAll(text, dir, "."), "\n")); d != "" {
		t.Error(d)
	}
	if strings.Contains(err.Error(), value) {
		t.Error("a secret is in the message")
	}
}

// Each secret of a server has a digest under its key, which changes when the secret changes or
// is missing.
func TestSecretSumsOfAllSecrets(t *testing.T) {
	t.Parallel()
	f, err := Parse("t.toml", []byte(notifying+"[host.secrets]\na = 'env:A'\n[server]\npeer_listen = ':7071'\npeer_token = 'env:PEERS'\n"+
		"[registry]\nkind = 'zookeeper'\nservers = ['zk']\ndigest = 'env:ZK'\n[history]\ndsn = 'postgres://u@h/d'\npassword = 'env:DB'\n"+small), Options{})
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"A=1", "HOOK=2", "KEY=3", "PEERS=4", "ZK=5", "DB=6"}
	all := f.SecretSums(env)
	for i, key := range []string{"host.secrets.a", "notify.ops.webhook", "notify.ops.key", "server.peer_token", "registry.digest", "history.password"} {
		changed, gone := slices.Clone(env), slices.Delete(slices.Clone(env), i, i+1)
		changed[i] += "0"
		one, none := f.SecretSums(changed), f.SecretSums(gone)
		if one[key] == all[key] || none[key] != ([sha256.Size]byte{}) || all[key] == none[key] {
			t.Errorf("%s: %x, changed %x, gone %x", key, all[key], one[key], none[key])
		}
	}
	if len(all) != len(env) {
		t.Errorf("%d secrets, want %d", len(all), len(env))
	}
}
