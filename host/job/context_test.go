package job

import "testing"

// Text is quoted like Gson does with ElasticJob's settings.
func TestTextIsQuotedAsJavaDoes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                 `""`,
		"a=b<c>d&e'f":      `"a\u003db\u003cc\u003ed\u0026e\u0027f"`,
		"\"\\/":            `"\"\\/"`,
		"\b\f\n\r\t":       `"\b\f\n\r\t"`,
		"\x00\x1f\x7f":     "\"\\u0000\\u001f\x7f\"",
		"\u2028\u2029":     `"\u2028\u2029"`,
		"ä€\U0001f600":     `"ä€😀"`,
		"broken \xff text": "\"broken \ufffd text\"",
	} {
		if got := gson(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
