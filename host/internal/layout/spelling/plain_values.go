package spelling

import (
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// plain reads a record. Here and below, keys come in the order in which encoding/json writes
// the fields; in any other order the value is odd, and encoding/json reads it.
func (v *runsJSON) plain(p *plain) {
	p.want("{")
	if p.key(`"v":`) {
		v.V = int(p.number())
	}
	if p.key(`"seq":`) {
		v.Seq = p.number()
	}
	if p.key(`"open":`) {
		p.list(func() {
			var e entryJSON
			p.want("{")
			e.plain(p)
			p.want("}")
			v.Open = append(v.Open, e)
		})
	}
	if p.key(`"retries":`) {
		p.list(func() { v.Retries = append(v.Retries, plainRetry(p)) })
	}
	if p.key(`"last":`) {
		v.Last = p.byItem()
	}
	if p.key(`"triggers":`) {
		p.list(func() { v.Triggers = append(v.Triggers, plainTrigger(p)) })
	}
	if p.key(`"rows":`) {
		p.list(func() { v.Rows = append(v.Rows, plainRow(p)) })
	}
	if p.key(`"requested":`) {
		v.Requested = p.byItem()
	}
	v.idleJSON.plain(p)
	v.pastJSON.plain(p)
	p.want("}")
}

// plain reads the keys of an entry. Values that extend an entry begin with the same keys.
func (e *entryJSON) plain(p *plain) {
	if p.key(`"i":`) {
		p.list(func() { e.Items = append(e.Items, int(p.number())) })
	}
	if p.key(`"t":`) {
		e.Instant = p.number()
	}
	if p.key(`"trigger":`) {
		e.Trigger = p.text()
	}
	if p.key(`"cause":`) {
		e.Cause = protocol.Cause(p.text())
	}
	if p.key(`"n":`) {
		e.Attempt = int(p.number())
	}
	if p.key(`"uncounted":`) {
		e.Uncounted = int(p.number())
	}
	if p.key(`"b":`) {
		e.Begun = p.number()
	}
	if p.key(`"param":`) {
		e.Param = p.text()
	}
	if p.key(`"first":`) {
		e.First = p.number()
	}
}

// plainRetry reads a run that waits for its next attempt.
func plainRetry(p *plain) (r retryJSON) {
	p.want("{")
	r.plain(p)
	if p.key(`"after":`) {
		r.After = p.number()
	}
	p.want("}")
	return r
}

// plainTrigger reads an accepted request, with its ranges of items.
func plainTrigger(p *plain) (t triggerJSON) {
	p.want("{")
	if p.key(`"id":`) {
		t.ID = p.text()
	}
	if p.key(`"at":`) {
		t.At = p.number()
	}
	if p.key(`"items":`) {
		p.list(func() {
			var pair [2]int64
			p.numbers(pair[:])
			t.Items = append(t.Items, [2]int{int(pair[0]), int(pair[1])})
		})
	}
	p.want("}")
	return t
}

// plainRow reads a row of the history that is not stored yet.
func plainRow(p *plain) (r rowJSON) {
	p.want("{")
	if p.key(`"s":`) {
		r.Seq = p.number()
	}
	r.plain(p)
	if p.key(`"gap":`) {
		r.Gap = &[2]int64{}
		p.numbers(r.Gap[:])
	}
	if p.key(`"cron":`) {
		r.Cron = p.text()
	}
	if p.key(`"state":`) {
		r.State = protocol.RowState(p.text())
	}
	if p.key(`"why":`) {
		r.Why = p.text()
	}
	if p.key(`"code":`) {
		r.Code = p.text()
	}
	if p.key(`"e":`) {
		r.Ended = p.number()
	}
	if p.key(`"by":`) {
		r.By = job.InstanceID(p.text())
	}
	p.want("}")
	return r
}

// plain reads the assignment.
func (v *assignmentJSON) plain(p *plain) {
	p.want("{")
	if p.key(`"v":`) {
		v.V = int(p.number())
	}
	if p.key(`"total":`) {
		v.Total = int(p.number())
	}
	if p.key(`"members":`) {
		p.list(func() { v.Members = append(v.Members, job.InstanceID(p.text())) })
	}
	if p.key(`"owners":`) {
		p.list(func() {
			var r [3]int64
			p.numbers(r[:])
			v.Owners = append(v.Owners, r)
		})
	}
	if p.key(`"packed":`) {
		v.Packed = p.byItem()
	}
	if p.key(`"last":`) {
		v.Last = p.byItem()
	}
	if p.key(`"requested":`) {
		v.Requested = p.byItem()
	}
	if p.key(`"departing":`) {
		p.list(func() { v.Departing = append(v.Departing, int(p.number())) })
	}
	v.idleJSON.plain(p)
	v.pastJSON.plain(p)
	p.want("}")
}

// plain reads the keys of idleJSON, which are a part of a record and of the assignment.
func (j *idleJSON) plain(p *plain) {
	if p.key(`"idle":`) {
		p.list(func() {
			var span [2]int64
			p.numbers(span[:])
			j.Idle = append(j.Idle, span)
		})
	}
	if p.key(`"resumed":`) {
		j.Resumed = p.byItem()
	}
	if p.key(`"unattended":`) {
		j.Unattended = p.number()
	}
}

// plain reads the keys of pastJSON, which are a part of a record and of the assignment.
func (j *pastJSON) plain(p *plain) {
	if p.key(`"begun":`) {
		j.Begun = moments(p.byItem())
	}
	if p.key(`"ended":`) {
		j.Ended = moments(p.byItem())
	}
	if p.key(`"flow":`) {
		p.list(func() { j.Flow = append(j.Flow, p.number()) })
	}
	if p.key(`"fire":`) {
		p.list(func() { j.Fire = append(j.Fire, p.number()) })
	}
	if p.key(`"crons":`) {
		p.list(func() { j.Crons = append(j.Crons, plainCron(p)) })
	}
	if p.key(`"latest":`) {
		j.Latest = plainLatest(p)
	}
	if p.key(`"streaks":`) {
		p.list(func() {
			var s [3]int64
			p.numbers(s[:])
			j.Streaks = append(j.Streaks, s)
		})
	}
	if p.key(`"tallies":`) {
		p.list(func() {
			var t [3]int64
			p.numbers(t[:])
			j.Tallies = append(j.Tallies, t)
		})
	}
}

// plainCron reads a schedule that the job has followed.
func plainCron(p *plain) (c cronJSON) {
	p.want("{")
	if p.key(`"r":`) {
		c.Rev = p.number()
	}
	if p.key(`"t":`) {
		c.Since = p.number()
	}
	if p.key(`"cron":`) {
		c.Cron = p.text()
	}
	p.want("}")
	return c
}

// plainLatest reads how the run that ended last has ended.
func plainLatest(p *plain) *latestJSON {
	var l latestJSON
	p.want("{")
	if p.key(`"t":`) {
		l.At = p.number()
	}
	if p.key(`"state":`) {
		l.State = protocol.RowState(p.text())
	}
	p.want("}")
	return &l
}

// plain reads for which instants listeners were called.
func (v *firesJSON) plain(p *plain) {
	p.want("{")
	if p.key(`"v":`) {
		v.V = int(p.number())
	}
	if p.key(`"started":`) {
		v.Started.plain(p)
	}
	if p.key(`"completed":`) {
		v.Completed.plain(p)
	}
	if p.key(`"followed":`) {
		p.want("true")
		v.Followed = true
	}
	p.want("}")
}

// plain reads one call of a listener.
func (t *tellingJSON) plain(p *plain) {
	p.want("{")
	if p.key(`"t":`) {
		t.Instant = p.number()
	}
	if p.key(`"n":`) {
		t.Attempt = int(p.number())
	}
	if p.key(`"by":`) {
		t.By = job.InstanceID(p.text())
	}
	p.want("}")
}
