package sim

import "math/rand/v2"

// draws is the only random source of a world.
type draws struct {
	rng *rand.Rand
	// tape records what is drawn, or replays what was recorded; nil when a run does
	// neither.
	tape tape
}

// tape stands between a world and its random source.
type tape interface {
	chance(p float64) bool
	number(n int64) int64
	share(sum float64) float64
	aside(rng *rand.Rand, part string) tape // for the draws of another random source
}

// drawn returns the random source of a seed.
func drawn(seed uint64) *draws {
	return &draws{rng: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
}

// aside returns another random source of the same seed. Draws from it do not change the
// other draws, so worlds keep their seeds when a disturbance is added that only some of
// them have.
//
// If the same functions also draw for another part of the world, part tells their recorded
// draws apart.
func (d *draws) aside(seed uint64, part string) *draws {
	a := &draws{rng: rand.New(rand.NewPCG(seed, 0xbf58476d1ce4e5b9))}
	if d.tape != nil {
		a.tape = d.tape.aside(a.rng, part)
	}
	return a
}

// between draws from [lo, hi).
func (d *draws) between(lo, hi int64) int64 { return lo + d.Int64N(max(hi-lo, 1)) }

// chance is true with probability p.
func (d *draws) chance(p float64) bool {
	if d.tape != nil {
		return d.tape.chance(p)
	}
	return d.rng.Float64() < p
}

// Int64N draws from [0, n).
func (d *draws) Int64N(n int64) int64 {
	if d.tape != nil {
		return d.tape.number(n)
	}
	return d.rng.Int64N(n)
}

// IntN draws from [0, n).
func (d *draws) IntN(n int) int { return int(d.Int64N(int64(n))) }

// share draws from [0, sum): a choice among weights.
func (d *draws) share(sum float64) float64 {
	if d.tape != nil {
		return d.tape.share(sum)
	}
	return d.rng.Float64() * sum
}
