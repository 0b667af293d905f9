package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// seen is the content of a recording as sets. Members race, and instants come at any time,
// so neither the number of writes, nor their flow, nor the writing member counts.
type seen struct {
	writes map[string]bool // nodes with their values, deletions, transactions, and what is ephemeral
	orders map[string]bool // pairs of consecutive writes of a session in one of the views
	said   map[string]bool // lines that members print, and answers to the operator
}

func nothing() seen {
	return seen{map[string]bool{}, map[string]bool{}, map[string]bool{}}
}

func (s seen) and(other seen) {
	maps.Copy(s.writes, other.writes)
	maps.Copy(s.orders, other.orders)
	maps.Copy(s.said, other.said)
}

// differences returns the differences between a recording and a play. Races decide which
// orders occur, so an order is a difference only if no recording of the release has it;
// known is the content of all of them.
func differences(kept, now, known seen, how chance) (all []string) {
	only := func(a map[string]bool, what string, others ...map[string]bool) {
		for _, k := range slices.Sorted(maps.Keys(a)) {
			if !slices.ContainsFunc(others, func(o map[string]bool) bool { return o[k] }) {
				all = append(all, what+": "+k)
			}
		}
	}
	if how == forks {
		only(now.writes, "written now, and in no recording", kept.writes, known.writes)
		only(now.said, "said now, and in no recording", kept.said, known.said)
		return all
	}
	only(kept.writes, "kept, and not written now", now.writes)
	only(now.writes, "written now, and not kept", kept.writes)
	only(kept.said, "kept, and not said now", now.said)
	only(now.said, "said now, and not kept", kept.said)
	if how == fixed {
		only(now.orders, "in this order now, and in no recording", known.orders, kept.orders)
	}
	return all
}

// look returns the content of a recording.
func look(t *testing.T, text []byte) seen {
	t.Helper()
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	return f.shows()
}

func (f file) shows() seen {
	s, own := nothing(), map[string]string{}
	for name, o := range f.Outputs {
		s.listen(who(name), o)
		for _, a := range o.Argv {
			if ip, ok := strings.CutPrefix(a, "ip="); ok {
				own[name] = ip
			}
		}
	}
	sessions := map[string]*session{}
	for _, c := range f.Flows {
		for _, w := range c.Writes {
			if w.Op == "createSession" || w.Op == "closeSession" || sessions[w.By] == nil {
				sessions[w.By] = &session{s, who(w.By), own[w.By], map[string]part{}}
			}
			sessions[w.By].add(w, f.Epoch+w.T)
		}
	}
	return s
}

func who(name string) string {
	if name == "tool" {
		return name
	}
	return "a member"
}

// listen adds the output of a process.
func (s seen) listen(who string, o output) {
	for _, l := range o.Other {
		s.said[who+": "+l] = true
	}
	for _, e := range o.Events {
		for _, e := range each(e) {
			text := fmt.Sprint(e)
			for re, by := range vague {
				text = re.ReplaceAllString(text, by)
			}
			s.said[who+": "+text] = true
		}
	}
}

// each splits an event into one for each item, since members of layout 1 print one line for
// all their items. It removes the time and the task id.
func each(event map[string]any) (all []map[string]any) {
	event = maps.Clone(event)
	delete(event, "t")
	delete(event, "task")
	if ev := event["ev"]; ev == "before" || ev == "after" {
		delete(event, "items") // those of the member that came last
	}
	items, _ := event["items"].([]any)
	for _, item := range items {
		e := maps.Clone(event)
		e["items"] = item
		for _, key := range []string{"params", "offsets"} {
			if of, ok := e[key].(map[string]any); ok {
				e[key] = of[fmt.Sprint(item)]
			}
		}
		all = append(all, e)
	}
	if len(items) == 0 {
		all = append(all, event)
	}
	return all
}

// session is the state of a ZooKeeper session while its writes are added.
type session struct {
	seen
	who    string
	own    string          // address
	before map[string]part // the previous write by view
}

// add adds a write.
func (s *session) add(w write, now int64) {
	together := map[string]bool{}
	for _, p := range w.Ops {
		s.one(p, now)
		together[p.Op+" "+strings.ReplaceAll(s.place(p.Path), "/own", "/*")] = true
	}
	if len(w.Ops) == 0 {
		s.one(part{w.Op, w.Path, w.Data, w.Ephemeral}, now)
	} else if !sets(w.Ops) {
		s.writes[fmt.Sprintf("in one transaction by %s: %q", s.who, slices.Sorted(maps.Keys(together)))] = true
	}
}

// sets reports whether a transaction is the library's way to set one existing node.
func sets(ops []part) bool {
	return len(ops) == 2 && ops[0].Op == "check" && ops[1].Op == "setData" && ops[0].Path == ops[1].Path
}

// one adds a part of a write. Creating and setting a node count as the same: of two members
// that write a node at once, one creates it and the other sets it.
func (s *session) one(p part, now int64) {
	place := s.place(p.Path)
	var short string
	switch p.Op {
	case "create", "setData":
		value := s.meaning(p.Path, *p.Data, now)
		s.writes[fmt.Sprintf("%s: written by %s: %q", place, s.who, value)] = true
		if p.Op == "create" {
			s.writes[fmt.Sprintf("%s: ephemeral %v", place, p.Ephemeral)] = true
		}
		if short = "write " + place; strings.HasSuffix(place, "/status") {
			short += " " + value
		}
	case "delete":
		s.writes[fmt.Sprintf("%s: deleted by %s", place, s.who)] = true
		short = "delete " + place
	default:
		return
	}
	s.follow(p, ofJob.ReplaceAllString(short, " "))
}

// follow adds the pair of the previous write and this one in each view. If they differ only
// in the item, the server or the like, the pair includes which of them is higher.
func (s *session) follow(p part, short string) {
	for k, v := range views {
		view := v.FindString(p.Op + " " + p.Path)
		if view == "" {
			continue
		}
		if k > 0 {
			view = v.String()
		} else {
			_, view, _ = strings.Cut(view, " ")
		}
		last, so := s.before[view], ""
		if last.Op == short {
			so = map[int]string{-1: " of a lower one", 0: " again", 1: " of a higher one"}[cmp.Compare(p.Path, last.Path)]
		}
		s.orders[order(s.who, last.Op, short+so)] = true
		s.before[view] = part{Op: short, Path: p.Path}
	}
}

func order(who, first, second string) string { return fmt.Sprintf("%s: %q, %q", who, first, second) }

var (
	changing = regexp.MustCompile(`(/)(_c_[^/]+|current\d+|\d+(\.\d+){3}|\d+)`)
	address  = regexp.MustCompile(`^\d+(\.\d+){3}$`)
	ofJob    = regexp.MustCompile(` /ns/[^/]+/`)

	// vague are parts of the output that differ in each play.
	vague = map[*regexp.Regexp]string{
		regexp.MustCompile(`\b[A-Z][a-z]{2} \d+, \d{4},? \d+:\d+:\d+.[AP]M\b`): "date",
		regexp.MustCompile(`\b(process\w+Count):\d+`):                          "$1:some",     // restarts from 0 every few seconds
		regexp.MustCompile(`\boffsets:[xyz](\d)\b`):                            "offsets:*$1", // several threads write each
	}

	// A view selects writes that come from one thread of a member; threads of one session
	// race. The first selects writes below one node, the others those of the threads that
	// run items, start the member and take items over.
	views = []*regexp.Regexp{
		regexp.MustCompile(` /ns/[^/]+/((execution|offset|servers)/[^/]+|leader/election|config)`),
		regexp.MustCompile(` /ns/[^/]+/(execution/[^/]+(/[^f].*)?$|servers/[^/]+/(status|sharding)$|leader/execution/cleaning|leader/sharding/processing)|delete .*/leader/(sharding|execution)/necessary`),
		regexp.MustCompile(` /ns/[^/]+(/config.*|/servers|/servers/[^/]+|/servers/[^/]+/hostName|/leader/election.*)?$|create .*/servers/[^/]+/status$`),
		regexp.MustCompile(`/execution/[^/]+/failover$|/leader/failover/latch/|delete .*/leader/failover/items`),
	}
)

// place returns a path without the parts that differ in each play: places in queues,
// items, and addresses of other members.
func (s *session) place(path string) string {
	if s.own != "" {
		path = strings.TrimSuffix(strings.ReplaceAll(path+"/", "/"+s.own+"/", "/own/"), "/")
	}
	return changing.ReplaceAllString(path, "$1*")
}

// meaning returns a value, or a word for values that differ in each play: times, the
// member's own address, and counts of processed data.
func (s *session) meaning(path, value string, now int64) string {
	const minute = 60_000
	if value == s.own && address.MatchString(value) {
		return "own address"
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return value
	}
	near := n > now-minute && n < now+minute
	switch name := path[strings.LastIndex(path, "/")+1:]; {
	case (name == "lastBeginTime" || name == "lastCompleteTime") && near:
		return "now"
	case name == "nextFireTime" && n%1000 == 0 && n > now-minute:
		return "an instant"
	case name == "nextFireTime" && near:
		return "an instant of Quartz's own" // for a run that is late
	case (name == "processSuccessCount" || name == "processFailureCount") && n > 0:
		return "some"
	}
	return value
}
