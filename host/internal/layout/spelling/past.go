package spelling

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// pastJSON is what an assignment and a record keep of the past: ended runs, and former
// schedules.
type pastJSON struct {
	Begun moments `json:"begun,omitzero"`
	Ended moments `json:"ended,omitzero"`
	Flow  []int64 `json:"flow,omitempty"` // elements: succeeded, failed
	Fire  []int64 `json:"fire,omitempty"` // instant, and how many of its runs succeeded, failed, or had nothing to do

	Crons []cronJSON `json:"crons,omitempty"` // schedules that the job followed, the newest last

	Latest  *latestJSON `json:"latest,omitempty"`  // its run that ended last
	Streaks [][3]int64  `json:"streaks,omitempty"` // item, failures in a row, when its newest run ended
	Tallies [][3]int64  `json:"tallies,omitempty"` // instant, how many items ended well, of how many
}

type latestJSON struct {
	At    int64             `json:"t"`
	State protocol.RowState `json:"state"`
}

type cronJSON struct {
	Rev   int64  `json:"r,omitempty"`
	Since int64  `json:"t,omitempty"`
	Cron  string `json:"cron,omitempty"`
}

// pastOf converts what the core keeps of the past to its JSON; past converts it back. What
// is zero is left out.
func pastOf(p *protocol.Past) pastJSON {
	j := pastJSON{Begun: p.Begun, Ended: p.Ended}
	if p.Flow != (protocol.Flow{}) {
		j.Flow = []int64{p.Flow.Succeeded, p.Flow.Failed}
	}
	if t := p.Results; t.Instant != 0 {
		j.Fire = []int64{t.Instant, int64(t.Succeeded), int64(t.Failed), int64(t.Skipped)}
	}
	for _, s := range p.Schedules {
		j.Crons = append(j.Crons, cronJSON(s))
	}
	if p.Latest.At != 0 {
		j.Latest = &latestJSON{p.Latest.At, p.Latest.State}
	}
	for _, s := range p.Streaks {
		j.Streaks = append(j.Streaks, [3]int64{int64(s.Item), int64(s.Failures), s.At})
	}
	for _, t := range p.Tallies {
		j.Tallies = append(j.Tallies, [3]int64{t.Instant, int64(t.Well), int64(t.Of)})
	}
	return j
}

// past is the reverse of pastOf. It ignores parts that this release would not write, such
// as streaks that are not ascending by item. They are only for operators, so they are no
// reason to refuse the record.
func (j *pastJSON) past() protocol.Past {
	p := protocol.Past{Begun: j.Begun, Ended: j.Ended}
	if len(j.Flow) == 2 {
		p.Flow = protocol.Flow{Succeeded: j.Flow[0], Failed: j.Flow[1]}
	}
	if f := j.Fire; len(f) == 4 {
		p.Results = protocol.Results{Instant: f[0], Succeeded: int(f[1]), Failed: int(f[2]), Skipped: int(f[3])}
	}
	for _, s := range j.Crons {
		p.Schedules = append(p.Schedules, protocol.Schedule(s))
	}
	if j.Latest != nil {
		p.Latest = protocol.Latest(*j.Latest)
	}
	last := int64(-1)
	for _, s := range j.Streaks[:min(len(j.Streaks), protocol.MaxStreaks)] {
		if s[0] > last && s[0] < MaxItems && s[1] >= 0 && s[1] < 1e6 { // otherwise it is meaningless
			p.Streaks = append(p.Streaks, protocol.Streak{Item: int(s[0]), Failures: int(s[1]), At: s[2]})
			last = s[0]
		}
	}
	last = 0
	for _, t := range j.Tallies[:min(len(j.Tallies), protocol.MaxTallies)] {
		if t[0] > last && t[1] >= 0 && t[2] > 0 && t[2] <= MaxItems { // otherwise it is meaningless
			p.Tallies = append(p.Tallies, protocol.Tally{Instant: t[0], Well: int(min(t[1], MaxItems)), Of: int(t[2])})
			last = t[0]
		}
	}
	return p
}
