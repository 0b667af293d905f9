package snakeyaml

import (
	"strings"
	"testing"
)

// A text that is large or deep on purpose is refused, or read in time proportional to its
// size.
func TestBombs(t *testing.T) {
	t.Parallel()
	times := func(s string) string { return strings.Repeat(s, MaxBytes/len(s)-4) }
	for name, text := range map[string]string{
		"lists in lists":         times("["),
		"mappings in mappings":   times("{"),
		"lists of lists":         times("- "),
		"keys of keys":           times("? "),
		"anchors":                times("&a "),
		"aliases of aliases":     "a: &a [x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n",
		"an alias of itself":     "a: &a [*a]\n",
		"documents":              times("---\n"),
		"directives":             times("%TAG ! x\n"),
		"keys in place of texts": "{" + times("{a: b}: c,") + "}",
		"a merge":                "a: &a {b: c}\n<<: *a\n",
		"binary":                 "a: !!binary |\n  aa\n",
		"too much":               "a: " + times("x") + "xxxxxx",
		"nothing but zeros":      times("\x00"),
		"no UTF-8":               "a: \xc3\n",
		"UTF-16":                 "\xff\xfea\x00:\x00 \x00b\x00",
	} {
		d, err := Read([]byte(text))
		if d != nil || err == nil || !strings.HasPrefix(err.Error(), "line ") || len(err.Error()) > 400 {
			t.Errorf("%s: %v, %.200v", name, d != nil, err)
		}
	}
	for name, text := range map[string]string{"comments": "a: b\n" + times("# x\n"), "keys": times("a: b\n"), "a list": "a: [" + times("x,") + "]"} {
		if d, err := Read([]byte(text)); d == nil || err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// U+FEFF behind the beginning is a character like any other, wherever the parser's buffer ends.
func TestByteOrderMarks(t *testing.T) {
	t.Parallel()
	for n := range 600 {
		text := "\ufeffa: " + strings.Repeat("x", n) + "\ufeff\ue000\nb: \"\\uE001\"\nb:\n  c\ufeff: d\n  e: f\n"
		d, err := Read([]byte(text))
		if err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		a, escaped, b := d.Entries[0], d.Entries[1], d.Entries[2]
		if a.Key != "a" || a.Value.Text != strings.Repeat("x", n)+"\ufeff\ue000" || escaped.Value.Text != "\ue001" || b.Key != "b" || b.Value.Entries[0].Key != "c\ufeff" || b.Value.Entries[1].Key != "e" {
			t.Fatalf("%d: %+v", n, d)
		}
	}
}

func TestNoDocument(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "# nothing\n", "---\n"} {
		if d, err := Read([]byte(text)); d != nil || err != nil {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("a: b\nk: !!x {y: &z [*z]}\nc: |2+\n   d\n\n", "k")
	f.Add("\ufeff'a': \"b\\\n  c\" # d\r\nk:\n- a\n", "a")
	f.Add("{a: b, ? [c] : d}\n...\n", "c")
	f.Fuzz(func(t *testing.T, text, key string) {
		d, err := Read([]byte(text), "k")
		if err != nil || d == nil {
			return
		}
		lines, err := AppendText(nil, 0, key, "v\n w")
		if err != nil || key == "k" {
			return
		}
		changed, ok := d.Update([]Change{{Key: key, Lines: lines}})
		if !ok {
			return
		}
		now, err := Read(changed, "k")
		if err != nil {
			t.Fatalf("%q becomes %q: %v", text, changed, err)
		}
		if k := now.last(key); k < 0 || now.Entries[k].Value.Text != "v\n w" {
			t.Errorf("%q becomes %q", text, changed)
		}
	})
}
