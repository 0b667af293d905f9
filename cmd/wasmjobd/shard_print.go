package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// simulated is the JSON of shard simulate. Scripts read it: add fields, but do not change any.
type simulated struct {
	Version  int    `json:"version"`
	Job      string `json:"job,omitempty"`
	Strategy string `json:"strategy"`
	Items    int    `json:"items"`
	shardMoves
}

// shardMoves is an assignment with its differences from another one.
type shardMoves struct {
	Compared  bool            `json:"compared"`  // there is an assignment to compare with
	Instances []instanceItems `json:"instances"` // in descending order of ids, including those that are gone
	Moves     []shardMove     `json:"moves"`     // by item
}

type instanceItems struct {
	Instance string `json:"instance"`
	Gone     bool   `json:"gone"`
	Items    []int  `json:"items"`
	Gets     []int  `json:"gets"`
	Loses    []int  `json:"loses"`
}

type shardMove struct {
	Item int    `json:"item"`
	From string `json:"from,omitempty"` // "": it had no owner
	To   string `json:"to,omitempty"`   // "": the item does not exist any more
}

// movesOf compares the owners of each item before and after. before is nil if there is nothing
// to compare with; an item without owner has "".
func movesOf(instances, before, after []string) shardMoves {
	all := map[string]*instanceItems{}
	at := func(id string) *instanceItems {
		if all[id] == nil {
			all[id] = &instanceItems{Instance: id, Gone: !slices.Contains(instances, id), Items: []int{}, Gets: []int{}, Loses: []int{}}
		}
		return all[id]
	}
	for _, id := range instances {
		at(id)
	}
	m := shardMoves{Compared: before != nil, Instances: []instanceItems{}, Moves: []shardMove{}}
	for item := range max(len(before), len(after)) {
		move := shardMove{Item: item, From: ownerIn(before, item), To: ownerIn(after, item)}
		if move.To != "" {
			at(move.To).Items = append(at(move.To).Items, item)
		}
		if before == nil || move.From == move.To {
			continue
		}
		m.Moves = append(m.Moves, move)
		if move.To != "" {
			at(move.To).Gets = append(at(move.To).Gets, item)
		}
		if move.From != "" {
			at(move.From).Loses = append(at(move.From).Loses, item)
		}
	}
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(all))) {
		m.Instances = append(m.Instances, *all[id])
	}
	return m
}

// ownerIn returns the owner of an item; "" also for an item that one of the assignments does not have.
func ownerIn(owners []string, item int) string {
	if item < len(owners) {
		return owners[item]
	}
	return ""
}

func printSimulated(term *terminal, s simulated) error {
	if term.json() {
		return term.printJSON(s)
	}
	w := table(term, "INSTANCE\tITEMS\tGETS\tLOSES")
	for _, in := range s.Instances {
		items := orDash(spansOf(in.Items))
		if in.Gone {
			items = "gone"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", plain(in.Instance), items, orDash(spansOf(in.Gets)), orDash(spansOf(in.Loses)))
	}
	if err := flush(w); err != nil {
		return err
	}
	term.printf("strategy %s", plain(s.Strategy))
	if s.Compared {
		term.printf(": %d of %s would move", len(s.Moves), count(s.Items, "item"))
	}
	term.printf("\n")
	return nil
}

// spansOf formats ascending numbers like 0-3,7.
func spansOf(items []int) string {
	var spans []string
	for len(items) > 0 {
		n := 1
		for n < len(items) && items[n] == items[0]+n {
			n++
		}
		span := strconv.Itoa(items[0])
		if n > 1 {
			span += "-" + strconv.Itoa(items[n-1])
		}
		spans, items = append(spans, span), items[n:]
	}
	return strings.Join(spans, ",")
}
