package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/job"
)

// item is one item of one job.
type item struct {
	job string
	no  int
}

func (i item) String() string { return fmt.Sprintf("%s item %d", i.job, i.no) }

// run is a run of one item for an instant or a trigger, with all its attempts.
type run struct {
	item
	id string
}

// at returns the run of an instant.
func (i item) at(instant int64) run { return run{i, strconv.FormatInt(instant, 10)} }

// attempt identifies an attempt of a run.
type attempt struct {
	run
	n int
}

func (a attempt) String() string {
	return fmt.Sprintf("%s of %s, attempt %d", a.item, a.id, a.n)
}

// guest is what the lines of one guest say: an attempt on one server with one token.
type guest struct {
	attempt
	instant int64 // 0 if it was triggered
	token   int64
	server  string

	lines    []Line
	starts   int
	end      bool    // it has reached its end
	elements []int64 // elements of its batch that it has processed
	era      int     // how often the registry had lost its data before
}

func (g *guest) first() Line { return g.lines[0] }
func (g *guest) last() Line  { return g.lines[len(g.lines)-1] }

// ip returns the address of its server.
func (g *guest) ip() string { return job.InstanceID(g.server).IP() }

func (g *guest) String() string {
	return fmt.Sprintf("%s, by %s with token %d", g.attempt, g.server, g.token)
}

// gather groups the lines by guest, in the order of the first lines. wiped lists the times
// at which the registry lost its data, after which tokens start again.
func gather(lines []Line, wiped []int64) []*guest {
	type key struct {
		attempt
		token  int64
		server string
	}
	known := map[key]*guest{}
	var guests []*guest
	for _, l := range lines {
		k := key{attempt{run{item{l.Job, l.Item}, l.Run}, l.Attempt}, l.Token, l.Server}
		g := known[k]
		if g == nil {
			g = &guest{attempt: k.attempt, instant: l.Instant, token: l.Token, server: l.Server}
			for _, w := range wiped {
				if l.At >= w {
					g.era++
				}
			}
			known[k], guests = g, append(guests, g)
		}
		g.lines = append(g.lines, l)
		switch l.Word {
		case "start":
			g.starts++
		case "end":
			g.end = true
		case "element":
			g.elements = append(g.elements, l.Element)
		}
	}
	return guests
}

// byItem groups guests and keeps their order.
func byItem(guests []*guest) [][]*guest {
	at := map[item]int{}
	var groups [][]*guest
	for _, g := range guests {
		i, ok := at[g.item]
		if !ok {
			i = len(groups)
			at[g.item], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], g)
	}
	return groups
}

// byToken returns the guests in the order in which the registry let them begin. Tokens can be
// compared only within an era.
func byToken(guests []*guest) []*guest {
	sorted := slices.Clone(guests)
	slices.SortStableFunc(sorted, func(a, b *guest) int {
		return cmp.Or(cmp.Compare(a.era, b.era), cmp.Compare(a.token, b.token))
	})
	return sorted
}

// era is a period in which the registry kept its data.
type era struct {
	from, to int64
	// If the data was removed before the era, first has the first run of each item; if it
	// was removed after it, last has the last run, and the instant before that run: rows
	// of instants in between may be lost with the data.
	first, last map[item]*guest
	ended       map[item]int64
}

// eras divides the window of the input at the times at which the registry's data was
// removed.
func eras(in Input, guests []*guest) []era {
	all := make([]era, len(in.Wiped)+1)
	for i := range all {
		all[i] = era{from: in.From, to: in.To, first: map[item]*guest{}, last: map[item]*guest{}, ended: map[item]int64{}}
		if i > 0 {
			all[i].from = in.Wiped[i-1]
		}
		if i < len(in.Wiped) {
			all[i].to = in.Wiped[i]
		}
	}
	for _, g := range guests {
		if g.instant == 0 {
			continue
		}
		e := all[g.era]
		if g.era > 0 && e.first[g.item] == nil {
			e.first[g.item] = g
		}
		if g.era < len(in.Wiped) {
			if last := e.last[g.item]; last != nil {
				e.ended[g.item] = last.instant
			}
			e.last[g.item] = g
		}
	}
	return all
}

// start returns the instant after which an item must be accounted for.
func (e era) start(i item) int64 {
	if g := e.first[i]; g != nil {
		return max(e.from, g.instant-1)
	}
	return e.from
}

// open returns the instant up to which an item must be accounted for.
func (e era) open(i item) int64 {
	if e.last[i] == nil {
		return e.to
	}
	return min(e.to, max(e.from, e.ended[i]))
}
