package sim

import "math/rand/v2"

// draws is the only source of chance in a world.
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
}

func drawn(seed uint64) *draws {
	return &draws{rng: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
}

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
