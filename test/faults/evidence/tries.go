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

// try is the report of one guest: an attempt on one server with one token.
type try struct {
	attempt
	instant int64 // 0 if it was triggered
	token   int64
	server  string

	lines    []Line
	starts   int
	end      bool // it has reached its end
	elements []int64
	era      int
}

func (t *try) first() Line { return t.lines[0] }
func (t *try) last() Line  { return t.lines[len(t.lines)-1] }

// ip returns the address of its server.
func (t *try) ip() string { return job.InstanceID(t.server).IP() }

func (t *try) String() string {
	return fmt.Sprintf("%s, by %s with token %d", t.attempt, t.server, t.token)
}

// gather groups lines into tries, in the order of their first lines. wiped lists the
// times at which the registry lost its data, after which tokens start again.
func gather(lines []Line, wiped []int64) []*try {
	type key struct {
		attempt
		token  int64
		server string
	}
	known := map[key]*try{}
	var tries []*try
	for _, l := range lines {
		k := key{attempt{run{item{l.Job, l.Item}, l.Run}, l.Attempt}, l.Token, l.Server}
		t := known[k]
		if t == nil {
			t = &try{attempt: k.attempt, instant: l.Instant, token: l.Token, server: l.Server}
			for _, w := range wiped {
				if l.At >= w {
					t.era++
				}
			}
			known[k], tries = t, append(tries, t)
		}
		t.lines = append(t.lines, l)
		switch l.Word {
		case "start":
			t.starts++
		case "end":
			t.end = true
		case "element":
			t.elements = append(t.elements, l.Element)
		}
	}
	return tries
}

// byItem groups tries and keeps their order.
func byItem(tries []*try) [][]*try {
	at := map[item]int{}
	var groups [][]*try
	for _, t := range tries {
		i, ok := at[t.item]
		if !ok {
			i = len(groups)
			at[t.item], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], t)
	}
	return groups
}

// byToken returns the tries in the order in which the registry let them begin.
func byToken(tries []*try) []*try {
	sorted := slices.Clone(tries)
	slices.SortStableFunc(sorted, func(a, b *try) int {
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
	first, last map[item]*try
	ended       map[item]int64
}

// eras divides the window of the input at the times at which the registry's data was
// removed.
func eras(in Input, tries []*try) []era {
	all := make([]era, len(in.Wiped)+1)
	for i := range all {
		all[i] = era{from: in.From, to: in.To, first: map[item]*try{}, last: map[item]*try{}, ended: map[item]int64{}}
		if i > 0 {
			all[i].from = in.Wiped[i-1]
		}
		if i < len(in.Wiped) {
			all[i].to = in.Wiped[i]
		}
	}
	for _, t := range tries {
		if t.instant == 0 {
			continue
		}
		e := all[t.era]
		if t.era > 0 && e.first[t.item] == nil {
			e.first[t.item] = t
		}
		if t.era < len(in.Wiped) {
			if last := e.last[t.item]; last != nil {
				e.ended[t.item] = last.instant
			}
			e.last[t.item] = t
		}
	}
	return all
}

// start returns the instant after which an item must be accounted for.
func (e era) start(i item) int64 {
	if t := e.first[i]; t != nil {
		return max(e.from, t.instant-1)
	}
	return e.from
}

// open returns the instant after which it need not be.
func (e era) open(i item) int64 {
	if e.last[i] == nil {
		return e.to
	}
	return min(e.to, max(e.from, e.ended[i]))
}
