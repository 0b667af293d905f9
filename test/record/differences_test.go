package record

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job/recorded"
)

// TestDifferences changes recordings: a change of behaviour is a difference, and a change
// of what differs in each play is not.
func TestDifferences(t *testing.T) {
	t.Parallel()
	known := map[string]seen{}
	for _, r := range releases {
		known[r.folder] = r.known(t)
	}
	for name, c := range map[string]struct {
		in   string
		edit func(*script)
		want string // in a difference, "" for none
		how  chance
	}{
		"nothing":                            {"ej20/basic", func(*script) {}, "", fixed},
		"names of places":                    {"ej20/basic", func(s *script) { s.replace(`_c_[0-9a-f-]+-latch-0+`, "_c_latch-7") }, "", fixed},
		"names of tasks":                     {"ej20/basic", func(s *script) { s.replace(`"task":"[^"]*"`, `"task":"other"`) }, "", fixed},
		"a later day":                        {"ej20/basic", func(s *script) { s.later() }, "", fixed},
		"a third item for m2":                {"ej20/basic", func(s *script) { s.replace(`"data":"2,3"`, `"data":"1,2,3"`) }, `/sharding: written by a member: "1,2,3"`, fixed},
		"another node":                       {"ej20/basic", func(s *script) { s.replace(`/lastCompleteTime"`, `/completeTime"`) }, "execution/*/completeTime: written", fixed},
		"no node":                            {"ej20/basic", func(s *script) { s.drop("create", "/completed") }, "kept, and not written now: /ns/job/execution/*/completed", fixed},
		"another status":                     {"ej20/basic", func(s *script) { s.replace(`"data":"RUNNING"`, `"data":"BUSY"`) }, `written by a member: "BUSY"`, fixed},
		"another's status":                   {"ej20/basic", func(s *script) { s.by("m2", "/10.0.0.2/status", "m1") }, `servers/*/status: written by a member`, fixed},
		"another's address":                  {"ej20/basic", func(s *script) { s.replace(`("path":"[^"]*/election/host","data":)"[^"]*"`, `$1"10.0.0.9"`) }, `host: written by a member: "10.0.0.9"`, fixed},
		"by the operator":                    {"ej20/basic", func(s *script) { s.by("m1", "/cleaning", "tool") }, "cleaning: written by tool", fixed},
		"what stays":                         {"ej20/basic", func(s *script) { s.replace(`(/running","data":""),"ephemeral":true`, `$1`) }, "running: ephemeral false", fixed},
		"one by one":                         {"ej20/basic", func(s *script) { s.split("/sharding/necessary") }, "in one transaction", fixed},
		"a moment of yesterday":              {"ej20/basic", func(s *script) { s.replace(`(/lastBeginTime","data":")\d`, "${1}0") }, "lastBeginTime: written by a member", fixed},
		"no instant":                         {"ej20/basic", func(s *script) { s.replace(`(/nextFireTime","data":"\d+)000"`, `${1}001"`) }, "an instant of Quartz's own", fixed},
		"runs before its mark":               {"ej20/basic", func(s *script) { s.swap("/running", "/lastBeginTime") }, "in this order now", fixed},
		"ends before it is done":             {"ej20/basic", func(s *script) { s.swap("/completed", "/running") }, "in this order now", fixed},
		"items from behind":                  {"ej20/basic", func(s *script) { s.swap("/3/completed", "/2/completed") }, "of a higher one", fixed},
		"runs while it is ready":             {"ej20/basic", func(s *script) { s.swap("/status", "/0/running") }, "in this order now", fixed},
		"leads before it may":                {"ej20/basic", func(s *script) { s.swap("-latch-0000000000", "/election/host") }, "in this order now", fixed},
		"joins before its config":            {"ej20/basic", func(s *script) { s.swap("/job/config", "/job/servers") }, "in this order now", fixed},
		"another item's value":               {"ej20/basic", func(s *script) { s.replace(`"param":"b"`, `"param":"c"`) }, "param:c", fixed},
		"another answer":                     {"ej20/basic", func(s *script) { s.replace(`"status":"OK"`, `"status":"DISABLED"`) }, "status:DISABLED", fixed},
		"a word amid JSON":                   {"ej20/basic", func(s *script) { s.replace(`"other": \[\]`, `"other": ["oh"]`) }, "oh", fixed},
		"numbers of layout 1":                {"ej1/basic", func(s *script) { s.replace(`(/shardingTotalCount","data":)"4"`, `$1"5"`) }, `shardingTotalCount: written by a member: "5"`, fixed},
		"order of layout 1":                  {"ej1/basic", func(s *script) { s.swap("/config/jobType", "/config/jobClass") }, "in this order now", fixed},
		"items of 1.0.6":                     {"ej10/stop", func(s *script) { s.swap("/running", "/lastBeginTime") }, "in this order now", fixed},
		"another order, where sessions race": {"ej20/unmonitored", func(s *script) { s.swap("/running", "/lastBeginTime") }, "", races},
		"another node, where sessions race":  {"ej20/unmonitored", func(s *script) { s.replace(`/lastBeginTime"`, `/beginTime"`) }, "execution/*/beginTime: written", races},
		"less, where a play forks":           {"ej1/reconnect", func(s *script) { s.drop("create", "/misfire") }, "", forks},
		"more, where a play forks":           {"ej1/reconnect", func(s *script) { s.replace(`/misfire"`, `/missed"`) }, "in no recording: /ns/job/execution/*/missed", forks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := recorded.Earlier(t, c.in+".json")
			s := &script{t: t}
			s.read(text)
			c.edit(s)
			folder, _, _ := strings.Cut(c.in, "/")
			got := differences(look(t, text), look(t, s.text()), known[folder], c.how)
			if c.want == "" && len(got) == 0 || c.want != "" && strings.Contains(strings.Join(got, "\n"), c.want) {
				return
			}
			t.Errorf("there is no difference with %q:\n%s", c.want, strings.Join(got, "\n"))
		})
	}
}

// TestNeighbours exchanges each two consecutive writes of one item in one session, which
// is always a difference.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	for k, name := range []string{"ej10/stop", "ej1/basic", "ej20/basic"} {
		known, text := releases[k].known(t), recorded.Earlier(t, name+".json")
		s := &script{t: t}
		s.read(text)
		kept, tried := look(t, text), 0
		for _, c := range s.f.Flows {
			before := map[string]int{}
			for k, w := range c.Writes {
				path := item.FindString(target(w))
				if path == "" {
					continue
				}
				if i, ok := before[w.By+path]; ok {
					tried++
					c.Writes[i], c.Writes[k] = c.Writes[k], c.Writes[i]
					if len(differences(kept, s.f.shows(), known, fixed)) == 0 {
						t.Errorf("%s: it is no difference if %s is written before %s", name, target(w), target(c.Writes[k]))
					}
					c.Writes[i], c.Writes[k] = c.Writes[k], c.Writes[i]
				}
				before[w.By+path] = k
			}
		}
		if tried < 50 {
			t.Errorf("%s: %d changed places", name, tried)
		}
	}
}

var item = regexp.MustCompile(`/execution/\d+/`)

// script is a recording to change. A change without effect fails the test.
type script struct {
	t *testing.T
	f file
}

func (s *script) read(text []byte) {
	s.t.Helper()
	s.f = file{}
	if err := json.Unmarshal(text, &s.f); err != nil {
		s.t.Fatal(err)
	}
}

func (s *script) text() []byte { return lines(s.t, s.f) }

func (s *script) replace(pattern, by string) {
	s.t.Helper()
	text := s.text()
	now := regexp.MustCompile(pattern).ReplaceAll(text, []byte(by))
	if string(now) == string(text) {
		s.t.Fatalf("nothing is like %s", pattern)
	}
	s.read(now)
}

// writes applies a change to the writes of each flow.
func (s *script) writes(change func([]write) []write) {
	s.t.Helper()
	before := string(s.text())
	for k := range s.f.Flows {
		s.f.Flows[k].Writes = change(s.f.Flows[k].Writes)
	}
	if string(s.text()) == before {
		s.t.Fatal("nothing is like that")
	}
}

// later moves all times by a day.
func (s *script) later() {
	s.t.Helper()
	const day = 86_400_000
	s.f.Epoch += day
	move := func(data *string) {
		if n, err := strconv.ParseInt(*cmp.Or(data, new(string)), 10, 64); err == nil && n > day {
			*data = strconv.FormatInt(n+day, 10)
		}
	}
	s.writes(func(all []write) []write {
		for k := range all {
			move(all[k].Data)
			for i := range all[k].Ops {
				move(all[k].Ops[i].Data)
			}
		}
		return all
	})
}

// drop removes an operation on nodes with a suffix.
func (s *script) drop(op, path string) {
	s.t.Helper()
	s.writes(func(all []write) []write {
		return slices.DeleteFunc(all, func(w write) bool { return w.Op == op && strings.HasSuffix(w.Path, path) })
	})
}

// by gives writes of one process to another.
func (s *script) by(name, path, other string) {
	s.t.Helper()
	s.writes(func(all []write) []write {
		for k, w := range all {
			if w.By == name && ends(w, path) {
				all[k].By = other
			}
		}
		return all
	})
}

// split replaces transactions that write a node by single writes.
func (s *script) split(path string) {
	s.t.Helper()
	s.writes(func(all []write) (now []write) {
		for _, w := range all {
			if !slices.ContainsFunc(w.Ops, func(p part) bool { return strings.HasSuffix(p.Path, path) }) {
				now = append(now, w)
				continue
			}
			for _, p := range w.Ops {
				now = append(now, write{T: w.T, By: w.By, Op: p.Op, Path: p.Path, Data: p.Data, Ephemeral: p.Ephemeral})
			}
		}
		return now
	})
}

// swap exchanges consecutive writes of a session to two nodes.
func (s *script) swap(first, second string) {
	s.t.Helper()
	s.writes(func(all []write) []write {
		before := map[string]int{}
		for k, w := range all {
			if w.Op == "error" {
				continue
			}
			if i, ok := before[w.By]; ok && ends(all[i], first) && ends(w, second) {
				all[i], all[k] = all[k], all[i]
			}
			before[w.By] = k
		}
		return all
	})
}

// ends reports whether a write is to a node with a suffix.
func ends(w write, path string) bool { return strings.HasSuffix(target(w), path) }

// target returns the written node, "" for several.
func target(w write) string {
	if sets(w.Ops) {
		return w.Ops[1].Path
	}
	return w.Path
}
