package schedule

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// vectorsDir finds the answers recorded from the Java libraries. They may be
// absent only where nobody asked for them.
func vectorsDir(t testing.TB) string {
	t.Helper()
	if dir, ok := os.LookupEnv("WASMJOBD_VECTORS"); ok && dir != "" {
		return dir
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(root) == root {
			t.Fatal("no go.mod above the package")
		}
		root = filepath.Dir(root)
	}
	dir := filepath.Join(root, "..", "shared", "vectors")
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("WASMJOBD_STRICT") == "1" {
			t.Fatalf("vectors are required: %v", err)
		}
		t.Skipf("no vectors here: %v", err)
	}
	return dir
}

// readLines decodes every line of a file of vectors, strictly as to syntax.
func readLines[T any](t testing.TB, name string) []T {
	t.Helper()
	f, err := os.Open(filepath.Join(vectorsDir(t), "cron", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []T
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<22)
	for sc.Scan() {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatalf("%s:%d: %v", name, len(all)+1, err)
		}
		all = append(all, v)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

type cronVector struct {
	ID    string
	Expr  string
	Valid *bool
	Cases []struct {
		TZ   string
		From *int64
		Next []*int64
		Stop string
	}
}

// The counts stand here so that a shortened file or a reader that gives up
// early cannot pass for success.
var cronFiles = []struct {
	name         string
	lines, fires int
}{
	{"features.jsonl", 190, 5531},
	{"dst.jsonl", 239, 8244},
	{"quirks.jsonl", 66, 1134},
	{"invalid.jsonl", 543, 543},
	{"fuzz.jsonl", 302, 823},
	{"random.jsonl", 3500, 17060},
	{"maxyear.jsonl", 14, 180},
	{"hang.jsonl", 6, 99},
}

func TestCronVectors(t *testing.T) {
	t.Parallel()
	for _, file := range cronFiles {
		t.Run(file.name, func(t *testing.T) {
			t.Parallel()
			vs := readLines[cronVector](t, file.name)
			fires := 0
			for _, v := range vs {
				fires += checkCron(t, v)
			}
			if len(vs) != file.lines || fires != file.fires {
				t.Errorf("compared %d lines and %d instants, want %d and %d", len(vs), fires, file.lines, file.fires)
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
		S    *string
		Want struct {
			Default  bool
			Zone     *string
			OffsetMs int
			Error    string
		}
	}
	vs := readLines[vector](t, "timezone3.jsonl")
	if len(vs) != 15 {
		t.Errorf("read %d lines, want 15", len(vs))
	}
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
