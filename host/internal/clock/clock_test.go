package clock

import (
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

func TestGapIsCounted(t *testing.T) {
	t.Parallel()
	c := new(Clock)
	c.Use(job.Config{TimeZone: "UTC"})
	at := func(s string) int64 {
		v, err := time.Parse(time.TimeOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return v.AddDate(2026, 5, 5).UnixMilli()
	}
	for _, g := range []struct {
		after, until, first, last string
		count                     int64
	}{
		{"10:00:00", "13:00:00", "11:00:00", "12:00:00", 2},
		{"09:59:59", "13:00:01", "10:00:00", "13:00:00", 4},
		{"10:00:00", "11:00:00", "", "", 0},
	} {
		first, last, n, err := c.Between("0 0 * * * ?", at(g.after), at(g.until))
		if err != nil || n != g.count || n > 0 && (first != at(g.first) || last != at(g.last)) {
			t.Errorf("between %s and %s: %d, %v", g.after, g.until, n, err)
		}
	}
	if got := c.After("0 0 * * * ?", at("10:00:00")); got != at("11:00:00") {
		t.Errorf("after 10:00 comes %d", got)
	}
	if once, never := c.After("0 0 0 1 1 ? 2020", at("10:00:00")), c.After("nonsense", 0); once != 0 || never != 0 {
		t.Errorf("after the last comes %d, and of nonsense %d", once, never)
	}
	if _, _, _, err := c.Between("nonsense", 0, 1); err == nil {
		t.Error("nonsense was counted")
	}
}
