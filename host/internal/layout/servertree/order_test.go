package servertree

import (
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job/recorded"
)

// step is a write of a node of a job.
type step struct {
	by, op, name, arg, data string
	alone                   bool // not in a transaction with other writes
}

// steps returns the steps of a recording, without jobs that run nothing.
func steps(t *testing.T, file string) (all []step) {
	t.Helper()
	for _, f := range recorded.EarlierFlows(t, file) {
		for _, w := range f.Writes {
			each := recorded.Flow{Writes: []recorded.Write{w}}.Each()
			for _, one := range each {
				rel, ok := strings.CutPrefix(one.Path, root+"/")
				n, arg, known := NodeOf(rel)
				if !ok || !known || one.Op == "check" {
					continue
				}
				all = append(all, step{w.By, one.Op, n.Name, arg, one.Data, w.Op != "multi" || len(each) <= 2})
			}
		}
	}
	return all
}

// files returns all recordings of 1.1.1 and 2.0.5 in which each address has one member.
func files(t *testing.T) (all []string) {
	t.Helper()
	for _, folder := range []string{"ej1", "ej20"} {
		for _, name := range recorded.EarlierScenarios(t, folder) {
			if name != "one_ip" && name != "config" {
				all = append(all, folder+"/"+name+".json")
			}
		}
	}
	return all
}

// frozen has a member that was frozen in the middle of a run. When it goes on, it completes
// an item that another member has taken, and deletes its marks.
const frozen = "ej20/reconnect.json"

// TestOrderOfARun checks that one member writes the nodes of an item one by one, in one
// order. A take-over has two steps before it and one after it.
func TestOrderOfARun(t *testing.T) {
	t.Parallel()
	order := []string{"create " + Running, LastBegin, NextFire, "create " + Completed, "delete " + Running, LastEnd}
	runs := 0
	for _, file := range files(t) {
		at, by := map[string]int{}, map[string]string{} // by item
		for _, s := range steps(t, file) {
			if !strings.HasPrefix(s.name, Item+"/") || s.name == Failover || s.name == Misfire || s.op == "delete" && s.name != Running {
				continue
			}
			if !s.alone {
				t.Errorf("%s: %s of item %s is in a transaction with others", file, s.name, s.arg)
			}
			what := s.name
			if s.name == Running || s.name == Completed {
				what = s.op + " " + s.name
			}
			switch k := slices.Index(order, what); {
			case k == 0:
				at[s.arg], by[s.arg] = 1, s.by
			case k == at[s.arg] && by[s.arg] == s.by:
				if at[s.arg]++; at[s.arg] == len(order) {
					runs++
				}
			case what == "delete "+Running: // its session ended, or monitoring was switched off
				at[s.arg] = len(order)
			case at[s.arg] == len(order): // a run that had begun before goes on
			case file == frozen:
			default:
				t.Errorf("%s: %s of item %s by %s, expected %s by %s", file, what, s.arg, s.by, order[at[s.arg]], by[s.arg])
			}
		}
	}
	if runs < 300 {
		t.Errorf("only %d runs", runs)
	}
}

// TestOrderOfAnAssignment checks that the leader creates processing, deletes the items of
// each server one by one, and writes all of them again in a transaction that deletes both
// marks.
func TestOrderOfAnAssignment(t *testing.T) {
	t.Parallel()
	assigned := 0
	for _, file := range files(t) {
		leader, assigning := "", false
		for _, s := range steps(t, file) {
			switch {
			case s.name == Host && s.op == "create":
				leader = s.by
			case s.name == Processing && s.op == "create":
				if assigning = true; s.by != leader {
					t.Errorf("%s: %s assigns, and %s leads", file, s.by, leader)
				}
			case s.name == Processing && s.op == "delete":
				if !s.alone {
					assigned++
				}
				assigning = false
			case s.name == Sharding && s.by != "tool":
				if !assigning || s.alone != (s.op == "delete") {
					t.Errorf("%s: %s of items of %s, assigning %v, alone %v", file, s.op, s.arg, assigning, s.alone)
				}
			}
		}
	}
	if assigned < 60 {
		t.Errorf("only %d assignments", assigned)
	}
}

// TestOrderOfATakeOver checks that, in the queue of the latch, a pending item is marked as
// taken, and only then no longer pending. A taker takes one item at a time, and deletes the
// mark after the run's marks.
func TestOrderOfATakeOver(t *testing.T) {
	t.Parallel()
	taken := 0
	for _, file := range files(t) {
		taker := map[string]string{} // by item
		pending := map[string]bool{}
		for _, s := range steps(t, file) {
			switch {
			case s.name == Pending && s.op == "create":
				pending[s.arg] = true
			case s.name == Failover && s.op == "create":
				if !pending[s.arg] || s.data == "" {
					t.Errorf("%s: item %s is taken by %s and was not pending", file, s.arg, s.data)
				}
				taker[s.arg] = s.by
			case s.name == Pending && s.op == "delete":
				if delete(pending, s.arg); taker[s.arg] != s.by {
					t.Errorf("%s: item %s is pending no more, by %s", file, s.arg, s.by)
				}
				taken++
			case s.name == Failover && s.op == "delete" && taker[s.arg] != s.by && file != frozen:
				t.Errorf("%s: the mark of item %s goes by %s", file, s.arg, s.by)
			}
		}
	}
	if taken < 12 {
		t.Errorf("only %d take-overs", taken)
	}
}

// TestOrderOfACleaning checks that only the leader deletes completed nodes, under its mark.
func TestOrderOfACleaning(t *testing.T) {
	t.Parallel()
	cleaned := 0
	for _, file := range files(t) {
		leader, cleaning := "", ""
		for _, s := range steps(t, file) {
			switch {
			case s.by == "tool":
			case s.name == Host && s.op == "create":
				leader = s.by
			case s.name == Cleaning && s.op == "create":
				if cleaning = s.by; s.by != leader {
					t.Errorf("%s: %s cleans, and %s leads", file, s.by, leader)
				}
			case s.name == Cleaning && s.op == "delete":
				cleaning = ""
			case s.name == Completed && s.op == "delete":
				if cleaned++; cleaning != s.by {
					t.Errorf("%s: item %s is cleaned by %s, and %q cleans", file, s.arg, s.by, cleaning)
				}
			}
		}
	}
	if cleaned < 300 {
		t.Errorf("only %d items were cleaned", cleaned)
	}
}
