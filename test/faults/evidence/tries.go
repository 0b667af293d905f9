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

// run is one item at one instant or by one trigger, in all its attempts.
type run struct {
	item
	id string
}

// at is the run of an instant.
func (i item) at(instant int64) run { return run{i, strconv.FormatInt(instant, 10)} }

// attempt names one try of a run.
type attempt struct {
	run
	n int
}

func (a attempt) String() string {
	return fmt.Sprintf("%s of %s, attempt %d", a.item, a.id, a.n)
}

// try is what one guest has reported: an attempt on one server with one token.
type try struct {
	attempt
	instant int64 // 0 if it was triggered
	token   int64
	server  string

	lines    []Line
	starts   int
	end      bool // it has come to its end
	elements []int64
	era      int
}

func (t *try) first() Line { return t.lines[0] }
func (t *try) last() Line  { return t.lines[len(t.lines)-1] }

// ip is the address of its server.
func (t *try) ip() string { return job.InstanceID(t.server).IP() }

func (t *try) String() string {
	return fmt.Sprintf("%s, by %s with token %d", t.attempt, t.server, t.token)
}

// gather sorts lines into tries, in the order of their first lines. Wiped are
// the times at which the registry lost its data, from where tokens count anew.
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

// byToken is the order in which the registry has let them begin.
func byToken(tries []*try) []*try {
	sorted := slices.Clone(tries)
	slices.SortStableFunc(sorted, func(a, b *try) int {
		return cmp.Or(cmp.Compare(a.era, b.era), cmp.Compare(a.token, b.token))
	})
	return sorted
}

// era is a time during which the registry had its data.
type era struct {
	from, to int64
	// Of each item the first run, if the data were removed before, and if they
	// were after, the last one and the instant of the one before that: rows of
	// what came in between may have gone with the data.
	first, last map[item]*try
	ended       map[item]int64
}

// eras divides the window of the input where the registry's data were removed.
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

// start is the instant after which an item is accounted for.
func (e era) start(i item) int64 {
	if t := e.first[i]; t != nil {
		return max(e.from, t.instant-1)
	}
	return e.from
}

// open is the instant after which it need not be.
func (e era) open(i item) int64 {
	if e.last[i] == nil {
		return e.to
	}
	return min(e.to, max(e.from, e.ended[i]))
}
