package layout

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// What assignment and records say of runs that have ended, and of schedules that
// were in force.

type pastJSON struct {
	Begun moments `json:"begun,omitzero"`
	Ended moments `json:"ended,omitzero"`
	Flow  []int64 `json:"flow,omitempty"` // elements that succeeded, that failed
	Fire  []int64 `json:"fire,omitempty"` // instant, and how many of its runs succeeded, failed, had nothing to do

	Crons []cronJSON `json:"crons,omitempty"` // by which the job went, the newest last
}

type cronJSON struct {
	Rev   int64  `json:"r,omitempty"`
	Since int64  `json:"t,omitempty"`
	Cron  string `json:"cron,omitempty"`
}

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
	return j
}

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
	return p
}
