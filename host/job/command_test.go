package job

import (
	"slices"
	"strings"
	"testing"
)

func TestSplitCommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"echo":                        {"echo"},
		"  /bin/sh  -c\t'exit 3'\n":   {"/bin/sh", "-c", "exit 3"},
		`a "b c" d`:                   {"a", "b c", "d"},
		`a"b c"d 'e'"f"`:              {"ab cd", "ef"},
		`a "it's" 'say "x"'`:          {"a", "it's", `say "x"`},
		`a "" ''`:                     {"a", "", ""},
		`C:\bin\x.exe \n $HOME *.txt`: {`C:\bin\x.exe`, `\n`, "$HOME", "*.txt"},
		"ü 'ä ö'":                     {"ü", "ä ö"},
	} {
		if got, err := SplitCommand(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("SplitCommand(%q) = %q, %v, want %q", line, got, err, want)
		}
	}
	for _, line := range []string{"", " \t", "''", `"" a`, `a "b`, "a 'b", `a "b' c`, "a\x00b"} {
		if got, err := SplitCommand(line); err == nil {
			t.Errorf("SplitCommand(%q) = %q, want an error", line, got)
		}
	}
}

func FuzzSplitCommand(f *testing.F) {
	for _, line := range []string{"a b", `a "b c"'d'`, `"`, "''", "\x00", "a\t\n b"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := SplitCommand(line)
		if err != nil {
			return
		}
		var quoted []string
		for _, w := range words {
			if strings.Contains(w, `"`) && strings.Contains(w, "'") {
				return // takes both kinds of quotes to write
			}
			q := `"`
			if strings.Contains(w, q) {
				q = "'"
			}
			quoted = append(quoted, q+w+q)
		}
		again, err := SplitCommand(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(again, words) {
			t.Errorf("%q: %q, then %q, %v", line, words, again, err)
		}
	})
}
