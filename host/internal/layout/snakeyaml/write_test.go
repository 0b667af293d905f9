package snakeyaml

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestTextsAreWrittenAsInJava(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/texts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var v struct{ Text, Lines string }
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		got, err := AppendText(nil, 0, "jobParameter", v.Text)
		if err != nil || string(got) != v.Lines {
			t.Errorf("%q: got\n%q, %v, want\n%q", v.Text, got, err, v.Lines)
			continue
		}
		if strings.ContainsAny(v.Text, "\r\u0085\u2028\u2029\ufeff") {
			continue // parsers read such breaks differently
		}
		d, err := Read(got)
		if err != nil || d.Entries[0].Value.Text != v.Text {
			t.Errorf("%q: read back from %q: %+v, %v", v.Text, got, d, err)
		}
	}
}

func TestWhatIsNotWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, text, want string }{
		{"k", "a\x00", "it has the control character U+0000"},
		{"k", "\xff", "it is not UTF-8"},
		{"", "a", "a key is at most"},
		{"a\nb", "a", "a key is at most"},
		{strings.Repeat("k", 123), "a", "a key is at most"},
	} {
		if got, err := AppendText(nil, 0, c.key, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q, %q: %q, %v, want %q", c.key, c.text, got, err, c.want)
		}
	}
}

// Keys need quotes as values do, and a continued text is indented more.
func TestKeysAndDepth(t *testing.T) {
	t.Parallel()
	got, err := AppendText(nil, 1, "yes: #1", strings.Repeat("lorem ipsum ", 8)+"dolor")
	want := "  'yes: #1': lorem ipsum lorem ipsum lorem ipsum lorem ipsum lorem ipsum lorem ipsum\n    lorem ipsum lorem ipsum dolor\n"
	if err != nil || string(got) != want {
		t.Errorf("got\n%s, %v, want\n%s", got, err, want)
	}
}

// The lines are what SnakeYAML 2.2 wrote. The dash of a list takes two columns.
func TestItemsAreWrittenAsInJava(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"wwajpefqt s  xcreb d vxrg  roecq trvvoyzz pnhxgiozu ihcdgouy upp  wggfujsmffh v ":   "- 'wwajpefqt s  xcreb d vxrg  roecq trvvoyzz pnhxgiozu ihcdgouy upp  wggfujsmffh v '\n",
		"uuhldtcipynozsendtmglypykeqwkkstkkigttcbexkizxqiitjalzupleqbyuimqsrymtampfyaf v u ": "- 'uuhldtcipynozsendtmglypykeqwkkstkkigttcbexkizxqiitjalzupleqbyuimqsrymtampfyaf v\n  u '\n",
	} {
		if got, err := AppendItem(nil, text); err != nil || string(got) != want {
			t.Errorf("got\n%s, %v, want\n%s", got, err, want)
		}
	}
	if got, err := AppendItem(nil, "a\x00"); err == nil || !strings.Contains(err.Error(), "it has the control character U+0000") {
		t.Errorf("%q, %v", got, err)
	}
}
