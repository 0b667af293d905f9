package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func contextsOf(t *testing.T, text string) ([]Context, string, error) {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "contexts.toml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := LoadContexts(name, []string{"HOME=/home/ann"})
	return all, dir, err
}

func TestContexts(t *testing.T) {
	t.Parallel()
	all, dir, err := contextsOf(t, "[contexts.prod]\naddress = 'https://prod:8680'\ntoken_file = '${HOME}/token'\nca = 'ca.pem'\ncert = 'me.pem'\nkey = '/keys/me.pem'\n"+
		"[contexts.'at home']\naddress = 'http://127.0.0.1:8680'\n")
	want := []Context{
		{Name: "at home", Address: "http://127.0.0.1:8680"},
		{Name: "prod", Address: "https://prod:8680", TokenFile: "/home/ann/token", CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "me.pem"), Key: "/keys/me.pem"},
	}
	if err != nil || !slices.Equal(all, want) {
		t.Errorf("%+v, %v\nwant %+v", all, err, want)
	}
}

func TestFaultsOfContexts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"another key": {"[contexts.prod]\naddresses = 'x'\n", `:2:1: contexts.prod.addresses: unknown key (did you mean "address"?)`},
		"a number":    {"[contexts.prod]\naddress = 8680\n", ":2:11: contexts.prod.address: "},
		"no table":    {"[context]\nprod = 'x'\n", ":1:2: context: unknown key"},
		"no TOML":     {"contexts", ":1:8: "},
	} {
		if _, _, err := contextsOf(t, tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	if _, err := LoadContexts(filepath.Join(t.TempDir(), "absent"), nil); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Any text gives contexts with absolute paths, or faults with their place.
func FuzzContexts(f *testing.F) {
	for _, text := range append(odd(), "[contexts.a]\nca='x'\n", "contexts.''.address=''", "contexts={a={key='${X'}}") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, dir, err := contextsOf(t, text)
		if err != nil {
			if !strings.Contains(err.Error(), dir) {
				t.Errorf("a fault without its file: %v", err)
			}
			return
		}
		for _, c := range all {
			for _, path := range []string{c.TokenFile, c.CA, c.Cert, c.Key} {
				if path != "" && !filepath.IsAbs(path) {
					t.Errorf("%q is not whole", path)
				}
			}
		}
	})
}
