package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Large texts that are made to be expensive are read in reasonable time. If the work grew with
// the square of the size, this test would exceed the time limit of the test program.
func TestLargeTextsAreRead(t *testing.T) {
	t.Parallel()
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < maxFileBytes/4; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	tests := map[string]string{
		"unknown_keys":     numbered("k%d=1\n"),
		"one_line":         "server={" + strings.TrimSuffix(numbered("é%d=1,"), ",") + "}",
		"one_quoted_line":  "server={" + strings.TrimSuffix(numbered("'é%d'=1,"), ",") + "}",
		"empty_jobs":       numbered("[jobs.j%d]\n"),
		"jobs":             numbered("[jobs.j%d]\ncron='0 0 2 * * ?'\nmodule='m'\n"),
		"modules":          numbered("[modules.j%d]\n"),
		"arrays_of_tables": numbered("[[x]]\n#%d\n"),
		"items":            "[jobs.j]\nitem_params={" + strings.TrimSuffix(numbered("%d='a',"), ",") + "}",
		"list":             "[host.allow]\nenv=[" + numbered("'%d',") + "]",
		"dirs":             "[host.allow]\ndirs=[" + numbered("'%d',") + "]",
		"settings":         "[jobs.j.config]\n" + numbered("k%d='${X}'\n"),
		"brackets":         strings.Repeat("[", maxFileBytes),
		"values":           "a=" + strings.Repeat("[", maxFileBytes-2),
		"braces":           "a=" + strings.Repeat("{a=", maxFileBytes/3-1),
		"dots":             strings.Repeat("a.", maxFileBytes/2),
		"dollars":          "[server]\nip='" + strings.Repeat("${A:-b}", maxFileBytes/8) + "'",
		"long_word":        "[jobs.j]\n" + strings.Repeat("k", maxFileBytes-20) + "=1",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("t.toml", []byte(text), Options{})
			var ps Problems
			if err != nil && !errors.As(err, &ps) || len(ps) > maxProblems+1 {
				t.Errorf("got %d problems", len(ps))
			}
		})
	}
}
