package schedule

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, field, token string
		offset             int
		says               string // part of the message
	}{
		{"0 0 12 ? * 0", "day-of-week", "0", 11, `is not Quartz (1=SUN..7=SAT); write 1 or SUN for Sunday, or set dialect = "unix"`},
		{"0 9 * * 1-5", "", "", 0, `write 0 0 9 ? * 2-6, or set dialect = "unix"`},
		{"0 0 * * 0", "", "", 0, `write 0 0 0 ? * 1, or`},
		{"0 0 1,15 * 1", "", "", 0, `is Unix cron; set dialect = "unix"`},
		{"* * * *", "", "", 0, "has 4 of 6 fields"},
		{"", "", "", 0, "has 0 of 6 fields"},
		{"@daily", "", "@daily", 0, `set dialect = "unix"`},
		{"* * * * * *", "", "", 6, "shall not count: * * * * * ?"},
		{"0 0 9 * * mon", "", "", 6, "shall not count: 0 0 9 ? * mon"},
		{"0 0 0 ? * ?", "", "", 6, "cannot both be left open"},
		{"0 60 * * * ?", "minute", "60", 2, "60 is not in 0-59"},
		{"0 5-70 * * * ?", "minute", "5-70", 2, "70 is not in 0-59"},
		{"*/70 * * * * ?", "second", "*/70", 0, "a step above 59"},
		{"0 0 0 1 Foo ?", "month", "Foo", 8, "JAN-DEC"},
		{"0 0 0 ? * FRI-2", "day-of-week", "FRI-2", 10, "names on both sides"},
		{"0 0 0 L,15 * ?", "day-of-month", "L,15", 6, "let L stand alone"},
		{"0 0 0 6L * ?", "day-of-month", "6L", 6, "write L or L-6"},
		{"0 0 0 L-31 * ?", "day-of-month", "L-31", 6, "more than 30 days"},
		{"0 0 0 ? * 6#6", "day-of-week", "6#6", 10, "from 1 to 5"},
		{"0 0 0 ? * 1#1,2#2", "day-of-week", "1#1,2#2", 10, "more than one #"},
		{"? 0 0 * * ?", "second", "?", 0, "day-of-month or day-of-week only"},
		{"0 0 0 , * ?", "day-of-week", "?", 10, "day-of-month is empty"},
		{"0 0 0 1 1 ? 2030-2020", "year", "2030-2020", 12, "runs backwards"},
		{"99999999999 * * * * ?", "second", "99999999999", 0, "too large"},
		{"0 0 5- * * ?", "hour", "5-", 4, "end of the range"},
		{"0 0 5/ * * ?", "hour", "5/", 4, "after the slash"},
		{"- * * * * ?", "second", "-", 0, "does not know"},
		{strings.Repeat("1,", 3000) + " 0 0 * * ?", "", "", 0, "bytes, more than"},
	} {
		_, err := Parse(c.text, time.UTC)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%.40q: got %v, want an *Error", c.text, err)
			continue
		}
		if e.Field != c.field || e.Token != c.token || e.Offset != c.offset || !strings.Contains(e.Error(), c.says) {
			t.Errorf("%.40q: got %q at %d, %q: %s\nwant %q at %d, %q: ... %s", c.text, e.Field, e.Offset, e.Token, e, c.field, c.offset, c.token, c.says)
		}
	}
	if _, err := Parse("0 0 0 * * ?", nil); err == nil {
		t.Error("a missing zone is accepted")
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, says string }{
		{"0 0 0 ? * MONDAY-FRIDAY", `"DAY-FRIDAY", which Quartz ignores`},
		{"0 0 0 1 JANUAR ?", `"UAR", which Quartz ignores`},
		{"0 0 0 ? * WED-FRID", `"D", which Quartz ignores`},
		{"0 0 0 ? * L", "every Saturday"},
		{"0 0 0 15W,20 * ?", "smallest day"},
		{"0 0/90 * * * ?", "only its first value"},
		{"0 0 0 L-29W * ?", "ends for good"},
		{"L 0 0 * * ?", "is ignored"},
		{"0 0 0 * * ? 2030 x", "at most seven"},
		{"0 0 99 * * ?", "99 means *"},
		{"0 0 0 98 * 2", "98 means ?"},
	} {
		q, err := Parse(c.text, time.UTC)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if !slices.ContainsFunc(q.Warnings(), func(s string) bool { return strings.Contains(s, c.says) }) {
			t.Errorf("%q: got %q, want %s", c.text, q.Warnings(), c.says)
		}
	}
	for _, text := range []string{"0 0/15 9-17 ? * MON-FRI", "0 0 0 LW * ?", "0 0 0 1 january ? 2030", "0 0 0 ? * friday#2"} {
		q, err := Parse(text, time.UTC)
		if err != nil || text != "0 0 0 ? * friday#2" && len(q.Warnings()) > 0 {
			t.Errorf("%q: got %v, %v", text, q, err)
		}
	}
}

func TestParseUnix(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 3, 6, 10, 7, 30, 0, time.UTC) // a Friday
	for _, c := range []struct{ text, want string }{
		{"*/15 * * * *", "2026-03-06T10:15:00Z"},
		{"0 12 * * 0", "2026-03-08T12:00:00Z"},
		{"0 12 * * mon", "2026-03-09T12:00:00Z"},
		{"0 0 13 * 5", "2026-03-13T00:00:00Z"}, // either of the two
		{"0 0 10 * 5", "2026-03-10T00:00:00Z"},
		{"0 0 */2 * 1", "2026-03-09T00:00:00Z"}, // both must hold, because a step counts as a star
		{"0 0 13 * */3", "2026-05-13T00:00:00Z"},
		{"0 0 10,* * 5", "2026-03-07T00:00:00Z"}, // either: it does not begin with a star
		{"0 0 * 2 *", "2027-02-01T00:00:00Z"},
		{"0 0 29 2 *", "2028-02-29T00:00:00Z"},
		{"@daily", "2026-03-07T00:00:00Z"},
		{"@every 90m", "2026-03-06T10:30:00Z"},
		{"@every 1s", "2026-03-06T10:07:31Z"},
	} {
		s, err := ParseUnix(c.text, time.UTC)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if got := s.Next(from).Format(time.RFC3339); got != c.want {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
	}
	for _, text := range []string{"", "TZ=0", "CRON_TZ=UTC 0 0 * * *", " TZ=0", "* * * * * *", "60 * * * *", "@never", "@every x", "@every 0s", "@every -5s", "@every 500ms", "@every 1.5s", "0 0 * * 7", strings.Repeat("1,", 3000)} {
		if _, err := ParseUnix(text, time.UTC); err == nil {
			t.Errorf("%.20q is accepted", text)
		}
	}
	for text, cure := range map[string]string{"0 0 * * 1-7": "0 for Sunday", "0 0 0 * * ?": `"quartz"`} {
		if _, err := ParseUnix(text, time.UTC); err == nil || !strings.Contains(err.Error(), cure) {
			t.Errorf("%q: got %v, want %s in it", text, err, cure)
		}
	}
	s, err := ParseUnix(", * * * *", time.UTC)
	if err == nil && FiresAfter(s, from) {
		t.Error("an empty field fires")
	}
}

func TestCompile(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct{ text, dialect, zone, want string }{
		{"0 0 9 * * ?", "", "", "2026-03-08T09:00:00Z"},
		{"0 0 9 * * ?", "quartz", "Europe/Berlin", "2026-03-08T09:00:00+01:00"},
		{"0 9 * * *", "unix", "Asia/Tokyo", "2026-03-09T09:00:00+09:00"},
	} {
		s, err := Compile(c.text, c.dialect, c.zone)
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		if got := s.Next(from).Format(time.RFC3339); got != c.want {
			t.Errorf("%v: got %s", c, got)
		}
	}
	for _, c := range [][3]string{{"0 0 9 * * ?", "cron", ""}, {"0 0 9 * * ?", "", "Mars/Base"}, {"0 9 * * *", "", ""}, {"0 0 9 * * ?", "unix", ""}} {
		if _, err := Compile(c[0], c[1], c[2]); err == nil {
			t.Errorf("%v is accepted", c)
		}
	}
}

func TestNumbersAsJavaReadsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want int
		ok   bool
	}{
		{"0", 0, true}, {"+7", 7, true}, {"-7", -7, true}, {"007", 7, true}, {"٣", 3, true}, {"１２", 12, true},
		{"2147483647", 2147483647, true}, {"-2147483648", -2147483648, true},
		{"", 0, false}, {"+", 0, false}, {"2147483648", 0, false}, {"99999999999999999999", 0, false}, {"1 ", 0, false}, {"𝟏", 0, false},
	} {
		if got, ok := javaInt(c.text); ok != c.ok || ok && got != c.want {
			t.Errorf("%q: got %d, %v", c.text, got, ok)
		}
	}
}
