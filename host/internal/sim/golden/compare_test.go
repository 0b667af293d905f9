package golden

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// difference is how one or several nodes of a kind differ there and here: in a flow by
// their states from beginning to end, at a moment by their state.
type difference struct {
	flow         string // file: name of the flow or moment
	node         string // kind, and the numbers, addresses or ids as ranges
	theirs, ours string
}

// raw is a difference of one node.
type raw struct {
	node
	theirs, ours string
}

func (p *play) differences() []difference {
	var all []difference
	for _, s := range p.scenes {
		all = append(all, fold(p.rec.file+": "+s.name, p.compare(s))...)
	}
	for _, g := range p.glances {
		all = append(all, fold(p.rec.file+": "+g.name, p.look(g))...)
	}
	return all
}

// fold joins nodes of one kind with the same difference.
func fold(flow string, diffs []raw) []difference {
	slices.SortFunc(diffs, func(a, b raw) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.theirs, b.theirs), cmp.Compare(a.ours, b.ours), cmp.Compare(a.arg, b.arg))
	})
	var all []difference
	for k := 0; k < len(diffs); {
		d := diffs[k]
		var args []string
		for ; k < len(diffs) && diffs[k].kind == d.kind && diffs[k].theirs == d.theirs && diffs[k].ours == d.ours; k++ {
			args = append(args, diffs[k].arg)
		}
		all = append(all, difference{flow, strings.TrimSpace(d.kind + " " + strings.Join(args, " ")), d.theirs, d.ours})
	}
	return all
}

// compare compares the states of every node that the flow touched on either side.
func (p *play) compare(s scene) []raw {
	f := p.rec.flow(p.t, s.name)
	before, after := p.rec.around(f)
	log := p.rec.entries(f)
	touched := map[node]bool{}
	for _, e := range slices.Concat(log, s.log) {
		for _, t := range e.touched {
			touched[t.node] = true
		}
	}
	var all []raw
	for n := range touched {
		start, ok := before[n]
		if !ok {
			start = s.before[n]
		}
		end, ok := after[n]
		if !ok {
			end = start
		}
		theirs, ours := way(n, start, log), way(n, s.before[n], s.log)
		// If a recording has a gap, its later state counts.
		if !slices.ContainsFunc(log, func(e entry) bool { return e.touches(n) }) {
			theirs = slices.Compact([]state{start, end})
		}
		if !slices.Equal(theirs, ours) {
			all = append(all, raw{n, p.show(n, theirs), p.show(n, ours)})
		}
	}
	return all
}

func (e entry) touches(n node) bool {
	return slices.ContainsFunc(e.touched, func(t touch) bool { return t.node == n })
}

// way returns the states of a node, as transactions left them.
func way(n node, from state, log []entry) []state {
	states := []state{from}
	for _, e := range log {
		for _, t := range e.touched {
			if t.node == n {
				states = append(states, t.over(states[len(states)-1]))
			}
		}
	}
	return slices.Compact(states)
}

// show spells states: "-" for no node, P and E for its kind, then its data. A member has
// its name in the recording, and runs of ours are shortened.
func (p *play) show(n node, states []state) string {
	text := make([]string, len(states))
	for k, s := range states {
		switch {
		case !s.exists:
			text[k] = "-"
			continue
		case s.ephemeral:
			text[k] = "E"
		default:
			text[k] = "P"
		}
		data := s.data
		for name, o := range p.rec.Outputs {
			if data == o.Instance {
				data = name
			}
		}
		if n.kind == pendingOf("").kind && data != "" {
			data = "run"
		}
		if data != "" {
			text[k] += " " + data
		}
	}
	return strings.Join(text, " > ")
}

// look compares the whole tree at a moment.
func (p *play) look(g glance) []raw {
	theirs := p.rec.world(p.rec.moment(p.t, g.name))
	both := maps.Clone(theirs)
	maps.Copy(both, g.world)
	var all []raw
	for n := range both {
		if theirs[n] != g.world[n] {
			all = append(all, raw{n, p.show(n, []state{theirs[n]}), p.show(n, []state{g.world[n]})})
		}
	}
	return all
}
