package main

import (
	"reflect"
	"strings"
	"testing"
)

// TestMovesOf writes an assignment as the owner of each item, one letter each; a dash stands
// for no owner.
func TestMovesOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, instances, before, after string
		nothingBefore                  bool
		want                           string // as instance:items+gets-loses
		moves                          int
	}{
		{name: "nothing to compare with", instances: "ba", after: "aab", nothingBefore: true, want: "b:2+- a:0-1+-"},
		{name: "the same", instances: "ba", before: "aab", after: "aab", want: "b:2+- a:0-1+-"},
		{name: "one comes", instances: "cba", before: "aabb", after: "aacb", want: "c:2+2- b:3+-2 a:0-1+-", moves: 1},
		{name: "one is gone", instances: "a", before: "aabb", after: "aaaa", want: "b!:+-2-3 a:0-3+2-3-", moves: 2},
		{name: "nobody had it", instances: "a", before: "-a", after: "aa", want: "a:0-1+0-", moves: 1},
		{name: "an item is gone", instances: "a", before: "aaa", after: "aa", want: "a:0-1+-2", moves: 1},
		{name: "one gets nothing", instances: "ba", before: "a", after: "a", want: "b:+- a:0+-"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before := ownersIn(test.before)
			if test.nothingBefore {
				before = nil
			}
			got := movesOf(ownersIn(test.instances), before, ownersIn(test.after))
			var all []string
			for _, in := range got.Instances {
				gone := ""
				if in.Gone {
					gone = "!"
				}
				all = append(all, in.Instance+gone+":"+spansOf(in.Items)+"+"+spansOf(in.Gets)+"-"+spansOf(in.Loses))
			}
			want := strings.Fields(test.want)
			if !reflect.DeepEqual(all, want) || len(got.Moves) != test.moves || got.Compared == test.nothingBefore {
				t.Errorf("got %v with %d moves, want %v with %d", all, len(got.Moves), want, test.moves)
			}
		})
	}
}

func ownersIn(s string) []string {
	all := []string{}
	for _, c := range s {
		all = append(all, strings.ReplaceAll(string(c), "-", ""))
	}
	return all
}
