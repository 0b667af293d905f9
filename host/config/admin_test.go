package config

import (
	"errors"
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

func TestAdmin(t *testing.T) {
	t.Parallel()
	const pair = "[admin.tls]\ncert = 'c.pem'\nkey = 'k.pem'\n"
	for name, tt := range map[string]struct {
		text string
		want Admin
	}{
		"nothing":        {"", Admin{}},
		"this machine":   {"[admin]\nlisten = '127.0.0.1:8680'\n", Admin{Listen: "127.0.0.1:8680"}},
		"its name":       {"[admin]\nlisten = 'localhost:0'\n", Admin{Listen: "localhost:0"}},
		"others":         {"[admin]\nlisten = ':8680'\n" + pair, Admin{":8680", AdminTLS{"/etc/c.pem", "/etc/k.pem", ""}}},
		"with authority": {"[admin]\nlisten = '10.0.0.7:8680'\n" + pair + "client_ca = '/a.pem'\n", Admin{"10.0.0.7:8680", AdminTLS{"/etc/c.pem", "/etc/k.pem", "/a.pem"}}},
	} {
		f, err := Parse("/etc/t.toml", []byte(tt.text), Options{})
		if err != nil || f.Admin != tt.want {
			t.Errorf("%s: %+v, want %+v: %v", name, f.Admin, tt.want, err)
		}
	}
}

// An [admin] table that would leave the port open to others, or closed, is refused.
func TestAdminFaults(t *testing.T) {
	t.Parallel()
	const open = "other machines reach this address, and would see the tokens of callers (write \"127.0.0.1:8680\", or cert and key in [admin.tls])"
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"no port":   {"[admin]\nlisten = '127.0.0.1'\n", []string{`t.toml:2:10: admin.listen: "127.0.0.1" is not an address with a port (write "127.0.0.1:8680")`}},
		"all":       {"[admin]\nlisten = ':8680'\n", []string{"t.toml:2:10: admin.listen: " + open}},
		"a name":    {"[admin]\nlisten = 'one.internal:8680'\n", []string{"t.toml:2:10: admin.listen: " + open}},
		"no listen": {"[admin.tls]\ncert = 'c'\nkey = 'k'\n", []string{`t.toml:1:8: admin.tls: nothing listens: listen in [admin] is missing (write listen = "0.0.0.0:8680" in [admin], or remove this)`}},
		"half a pair": {"[admin]\nlisten = ':1'\n[admin.tls]\ncert = 'c'\n", []string{
			`t.toml:3:8: admin.tls: key is missing (write cert = "path/to/cert.pem" and key = "path/to/key.pem")`,
		}},
		"empty": {"[admin]\nlisten = ':1'\n[admin.tls]\ncert = ''\nkey = 'k'\n", []string{"t.toml:4:8: admin.tls.cert: the path is empty (remove it)"}},
		"a word": {"[admin]\nlisten = ':1'\ntoken = 'x'\n", []string{
			"t.toml:2:10: admin.listen: " + open,
			"t.toml:3:1: admin.token: unknown key (known here: listen, tls)",
		}},
	} {
		_, err := Parse("t.toml", []byte(tt.text), Options{})
		var got []string
		if all, ok := errors.AsType[Problems](err); ok {
			for _, p := range all {
				got = append(got, p.String())
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q (%v)", name, got, tt.want, err)
		}
	}
}

// No job may read the key of the API's port, or write to files that the port trusts.
func TestAdminFilesArePrivate(t *testing.T) {
	t.Parallel()
	f, err := Parse("/etc/t.toml", []byte("[admin]\nlisten = ':1'\n[admin.tls]\ncert = 'c'\nkey = 'k'\nclient_ca = 'a'\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for path, readable := range map[string]bool{"/etc/c": true, "/etc/k": false, "/etc/a": true} {
		if !slices.ContainsFunc(f.Private(), func(p job.Private) bool { return p.Path == path && p.Readable == readable }) {
			t.Errorf("%s is not private", path)
		}
	}
}
