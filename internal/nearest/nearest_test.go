package nearest

import (
	"strings"
	"testing"
)

func TestTo(t *testing.T) {
	t.Parallel()
	keys := []string{"timeout", "timezone", "monitor_port", "monitor_execution", "my-job", "Nightly", "m", "report-east", "report-west"}
	for _, tt := range []struct{ name, want string }{
		{"timout", "timeout"},
		{"tiemout", "timeout"},
		{"timeZone", "timezone"},
		{"monitor-port", "monitor_port"},
		{"monitorPort", "monitor_port"},
		{"my_jop", "my-job"},
		{"nihgtly", "Nightly"},
		{"monitor_exe", "monitor_execution"}, // the only one that begins like this
		{"report", ""},                       // two candidates do
		{"nig", ""},                          // too short
		{"n", "m"},                           // a single edit always counts as close
		{"night", "Nightly"},
		{"cron", ""},
		{"", ""},
		{strings.Repeat("x", longest+1), ""},
	} {
		if got := To(tt.name, keys); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.name, got, tt.want)
		}
	}
	long := strings.Repeat("x", longest+1)
	if got := To(long[1:], []string{long}); got != "" {
		t.Errorf("a candidate that is not compared: %q", got)
	}
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	if got := Question("ordres", []string{"orders"}); got != `did you mean "orders"?` {
		t.Error(got)
	}
	if got := Question("reports", []string{"orders"}); got != "" {
		t.Error(got)
	}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0},
		{"abc", "abd", 1}, {"abc", "ab", 1}, {"abc", "xabc", 1}, {"abcd", "abdc", 1},
		{"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"ab", "ba", 1}, {"abcde", "badce", 2},
	} {
		if got := edits(tt.a, tt.b); got != tt.want {
			t.Errorf("%q, %q: got %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := edits(tt.b, tt.a); got != tt.want {
			t.Errorf("%q, %q: got %d, want %d", tt.b, tt.a, got, tt.want)
		}
	}
}
