package sim

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// recording has all values that were drawn in a run, by place: the function that wants
// the value. A new draw has a place of its own, so it does not change the values of
// others.
type recording map[string]*values

// values are the draws of one place, in order.
type values struct {
	chances []bool
	numbers []int64
	shares  []float64
}

func (r recording) at(place string) *values {
	if r[place] == nil {
		r[place] = &values{}
	}
	return r[place]
}

// recorder is a tape that stores the values of a random source.
type recorder struct {
	rng    *rand.Rand
	places places
	kept   recording
	part   string // of the world, after the name of each place
}

// recorded returns the draws of a seed, and the recording that they fill.
func recorded(seed uint64) (*draws, recording) {
	d, kept := drawn(seed), recording{}
	d.tape = &recorder{rng: d.rng, places: places{}, kept: kept}
	return d, kept
}

func (r *recorder) chance(p float64) bool {
	yes := r.rng.Float64() < p
	if !certain(p) {
		v := r.kept.at(r.places.caller() + r.part)
		v.chances = append(v.chances, yes)
	}
	return yes
}

// certain chances (0 and 1) are not recorded. A replay that has diverged must not let
// happen in the calm what happened during the faults.
func certain(p float64) bool { return p <= 0 || p >= 1 }

func (r *recorder) number(n int64) int64 {
	v, x := r.kept.at(r.places.caller()+r.part), r.rng.Int64N(n)
	v.numbers = append(v.numbers, x)
	return x
}

func (r *recorder) share(sum float64) float64 {
	v, x := r.kept.at(r.places.caller()+r.part), r.rng.Float64()*sum
	v.shares = append(v.shares, x)
	return x
}

func (r *recorder) aside(rng *rand.Rand, part string) tape {
	return &recorder{rng: rng, places: r.places, kept: r.kept, part: r.part + part}
}

// player is a tape that answers with recorded values. A place that is unknown, or has
// used up its values, gets the likelier answer to a chance, so that no new fault happens
// and requests that nearly always succeed still do. Its numbers come from a fixed random
// source of the place; the smallest numbers would make all messages arrive at once and
// all waits short.
type player struct {
	left   recording
	places places
	part   string // as for a recorder
	spare  map[string]*rand.Rand
}

func replayed(r recording) *draws {
	left := recording{}
	for place, v := range r {
		rest := *v
		left[place] = &rest
	}
	return &draws{tape: &player{left: left, places: places{}, spare: map[string]*rand.Rand{}}}
}

func (p *player) chance(likely float64) bool {
	if certain(likely) {
		return likely >= 1
	}
	yes, ok := next(&p.left.at(p.places.caller() + p.part).chances)
	if !ok {
		return likely > 0.5
	}
	return yes
}

func (p *player) number(n int64) int64 {
	place := p.places.caller() + p.part
	x, ok := next(&p.left.at(place).numbers)
	if !ok {
		return p.source(place).Int64N(n)
	}
	return x % n // there may be fewer to choose from now
}

func (p *player) share(sum float64) float64 {
	place := p.places.caller() + p.part
	x, ok := next(&p.left.at(place).shares)
	if !ok {
		return p.source(place).Float64() * sum
	}
	return math.Mod(x, sum)
}

func (p *player) aside(_ *rand.Rand, part string) tape {
	return &player{left: p.left, places: p.places, part: p.part + part, spare: p.spare}
}

func next[T any](s *[]T) (T, bool) {
	if len(*s) == 0 {
		var none T
		return none, false
	}
	x := (*s)[0]
	*s = (*s)[1:]
	return x, true
}

func (p *player) source(place string) *rand.Rand {
	if p.spare[place] == nil {
		h := fnv.New64a()
		h.Write([]byte(place))
		p.spare[place] = rand.New(rand.NewPCG(h.Sum64(), 0))
	}
	return p.spare[place]
}
