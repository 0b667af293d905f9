package schedule

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job/recorded"
)

type cronVector struct {
	ID    string
	Cat   string
	Expr  string
	Valid *bool
	Err   string // Quartz's message, for people
	Cases []struct {
		TZ    string
		From  *int64
		Next  []*int64
		Local []string // the same as local times, for people
		Stop  string
	}
	Alt     json.RawMessage // answers of later versions of Quartz; not followed
	MaxYear int             // Quartz's last year where the answer depends on it
}

var cronFiles = []string{"features", "dst", "quirks", "invalid", "fuzz", "random", "maxyear", "hang"}

func TestCronVectors(t *testing.T) {
	t.Parallel()
	for _, file := range cronFiles {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			vs := recorded.Vectors[cronVector](t, "cron/"+file+".jsonl")
			fires := 0
			for _, v := range vs {
				fires += checkCron(t, v)
			}
			if fires < len(vs) {
				t.Errorf("compared only %d answers of %d lines", fires, len(vs))
			}
		})
	}
}

// checkCron compares all cases of one expression and returns how many answers
// it compared.
func checkCron(t *testing.T, v cronVector) (compared int) {
	t.Helper()
	if v.Valid == nil || *v.Valid == (len(v.Cases) == 0) {
		t.Fatalf("%s: unusable line", v.ID)
	}
	if !*v.Valid {
		if _, err := Parse(v.Expr, time.UTC); err == nil {
			t.Errorf("%s: %q is accepted", v.ID, v.Expr)
		}
		return 1
	}
	for i, c := range v.Cases {
		loc, err := time.LoadLocation(c.TZ)
		if err != nil || c.From == nil {
			t.Fatalf("%s: case %d: unusable: %v", v.ID, i, err)
		}
		s, err := Parse(v.Expr, loc)
		if err != nil {
			t.Errorf("%s: %q is refused: %v", v.ID, v.Expr, err)
			return compared
		}
		at := time.UnixMilli(*c.From)
		for j, want := range c.Next {
			got := s.Next(at)
			compared++
			if want == nil {
				if !got.IsZero() || j != len(c.Next)-1 {
					t.Errorf("%s: %q %s: after %v: got %v, want never", v.ID, v.Expr, c.TZ, at.In(loc), got)
				}
				break
			}
			if got.IsZero() || got.UnixMilli() != *want {
				t.Errorf("%s: %q %s: after %v: got %v, want %v", v.ID, v.Expr, c.TZ, at.In(loc), got, time.UnixMilli(*want).In(loc))
				break
			}
			at = got
		}
		if c.Stop != "" {
			compared++
			if got := s.Next(at); !got.IsZero() {
				t.Errorf("%s: %q %s: after %v: got %v, want never (%s)", v.ID, v.Expr, c.TZ, at.In(loc), got, c.Stop)
			}
		}
	}
	return compared
}

func TestTimeZoneVectors(t *testing.T) {
	t.Parallel()
	type vector struct {
		ID   string
		Cat  string
		Op   string
		S    *string
		Want struct {
			Default  bool
			Zone     *string
			OffsetMs int
			Error    string
			Message  string // for people
		}
	}
	vs := recorded.Vectors[vector](t, "cron/timezone3.jsonl")
	for _, v := range vs {
		var s string // Java's null and empty text mean the same
		if v.S != nil {
			s = *v.S
		}
		loc, ok, err := GMTZone(s)
		switch {
		case v.Want.Error != "":
			if err == nil {
				t.Errorf("%s: %q is accepted as %v", v.ID, s, loc)
			}
		case v.Want.Default:
			if ok || err != nil {
				t.Errorf("%s: %q: got %v, %v, want the default zone", v.ID, s, loc, err)
			}
		case v.Want.Zone == nil:
			t.Errorf("%s: unusable line", v.ID)
		default:
			if !ok || err != nil {
				t.Errorf("%s: %q: got %v, %v", v.ID, s, ok, err)
				continue
			}
			name, offset := time.Unix(0, 0).In(loc).Zone()
			if name != *v.Want.Zone || offset*1000 != v.Want.OffsetMs {
				t.Errorf("%s: %q: got %s %d, want %s %d ms", v.ID, s, name, offset, *v.Want.Zone, v.Want.OffsetMs)
			}
		}
	}
}
