package config

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// odd returns texts that exercise the syntax of TOML rather than our keys.
func odd() []string {
	return []string{
		small,
		"a.b.c = 1\na.b.d = 2\n[a.b.e]\nf = 3\n",
		"[[x]]\ny = 1\n[x.z]\nq = 1\n[[x]]\n[x.z]\nr = 1\n[[x.w]]\nv = 1\n[[x.w]]\nv = 2\n",
		"x = [ # c ] \n { a = 1, b = [1, 2,], }, \"]\",\n '[' ]\ny = {\n a = 1, # }\n b.c = 2\n}\n",
		"s = \"\"\"\n \\\" \"\" ] \"\"\"\"\"\nt = '''\n'' \\'''''\nu = \"\\\" # \"\nv = '\\'\n",
		"'a.b'.\"c\\u00e9\\x41\\\"\" . d = 1979-05-27 07:32:00 # date\ne = 1979-05-27T07:32:00-08:00\n",
		"\ufeff[ a . 'b' ]\r\nc = +1_000.5e-3\r\n",
		"[jobs.a]\n[jobs.b.allow]\n[jobs.b]\n",
		"x=[[[]],[{y=[]}]]\n",
		"[a]#]\nb=1#=\n[ \"\" ]\n''=1\n",
		"include = ['a']\n[server]\ndata_dir = '${X:-$$}'\n[jobs.'']\nitem_params = { 0 = 'a' }\nallow.dirs = ['ro:a:/b']\n",
	}
}

// FuzzParse checks that no text makes the reader panic, and that each fault has a place inside
// the text.
func FuzzParse(f *testing.F) {
	for _, text := range odd() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("t.toml", []byte(text), Options{Env: []string{"X=1"}})
		if err == nil {
			for _, j := range file.Jobs {
				if err := j.Validate(); err != nil {
					t.Errorf("accepted a job that is not valid: %v", err)
				}
			}
			return
		}
		var ps Problems
		if !errors.As(err, &ps) || len(ps) == 0 {
			t.Fatalf("error without problems: %v", err)
		}
		lines := strings.Split(text, "\n")
		for _, p := range ps {
			if p.Line < 1 || p.Line > len(lines) || p.Col < 1 || p.Col > len(lines[p.Line-1])+1 {
				t.Errorf("problem outside of the text: %+v", p)
			}
			if strings.ContainsAny(p.String(), "\n\r\x1b") {
				t.Errorf("problem of several lines: %q", p.String())
			}
		}
	})
}

// FuzzScan compares the scanner with the parser: in a text that the parser accepts, the scanner
// finds each key and value, at its place.
func FuzzScan(f *testing.F) {
	for _, text := range odd() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.TrimPrefix(text, "\ufeff")
		marks, deep := scan(text)
		if deep >= 0 || strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
			return
		}
		raw := map[string]any{}
		if _, err := toml.Decode(text, &raw); err != nil {
			return
		}
		compare(t, text, marks, "", raw)
	})
}

// compare checks that the marks have everything below path.
func compare(t *testing.T, text string, marks map[string]mark, path string, raw any) {
	t.Helper()
	switch raw := raw.(type) {
	case map[string]any:
		for _, name := range sortedNames(raw) {
			below := joinKey(path, name)
			m, found := marks[below]
			if !found {
				t.Fatalf("no mark for %s", below)
			}
			s := scanner{text: text, at: m.key, deep: -1}
			if parts := s.key(); len(parts) == 0 || parts[0].name != name {
				t.Fatalf("the mark of %s points at %.20q", below, text[m.key:])
			}
			begins(t, text, m, below, raw[name])
			compare(t, text, marks, below, raw[name])
		}
	case []any:
		for i, element := range raw {
			inArray(t, text, marks, path, i, element)
		}
	case []map[string]any:
		for i, element := range raw {
			inArray(t, text, marks, path, i, element)
		}
	}
}

func inArray(t *testing.T, text string, marks map[string]mark, path string, i int, raw any) {
	t.Helper()
	element := path + "[" + strconv.Itoa(i) + "]"
	m, found := marks[element]
	if !found {
		t.Fatalf("no mark for %s", element)
	}
	begins(t, text, m, element, raw)
	compare(t, text, marks, element, raw)
}

// begins checks that a value of this type can begin at the mark.
func begins(t *testing.T, text string, m mark, path string, raw any) {
	t.Helper()
	var set string
	switch raw.(type) {
	case string:
		set = `"'`
	case bool:
		set = "tf"
	case int64, float64:
		set = "+-0123456789in"
	case []any:
		set = "["
	default:
		return // a table can begin at a header, a dotted key or a brace
	}
	if m.value >= len(text) || !strings.ContainsRune(set, rune(text[m.value])) {
		t.Fatalf("the value of %s does not begin at %.20q", path, text[min(m.value, len(text)):])
	}
}
