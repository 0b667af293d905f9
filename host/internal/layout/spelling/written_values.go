package spelling

// The code below writes to the byte what encoding/json would: fields in their order,
// without those that are omitted when empty.

// written returns the JSON of a record.
func (v *runsJSON) written() []byte {
	w := &written{make([]byte, 0, 256)}
	w.object(func() {
		w.number(`"v":`, int64(v.V))
		w.number(`"seq":`, v.Seq)
		if len(v.Open) > 0 {
			w.key(`"open":`)
			w.list(len(v.Open), func(k int) { w.object(func() { v.Open[k].write(w) }) })
		}
		if len(v.Retries) > 0 {
			w.key(`"retries":`)
			w.list(len(v.Retries), func(k int) { v.Retries[k].write(w) })
		}
		w.byItemUnlessZero(`"last":`, v.Last)
		if len(v.Triggers) > 0 {
			w.key(`"triggers":`)
			w.list(len(v.Triggers), func(k int) { v.Triggers[k].write(w) })
		}
		if len(v.Rows) > 0 {
			w.key(`"rows":`)
			w.list(len(v.Rows), func(k int) { v.Rows[k].write(w) })
		}
		w.byItemUnlessZero(`"requested":`, v.Requested)
		v.idleJSON.write(w)
		v.pastJSON.write(w)
	})
	return w.b
}

// write writes the members of an entry, without the braces, since other values begin with
// the same members.
func (e *entryJSON) write(w *written) {
	w.key(`"i":`)
	w.ints(e.Items)
	w.number(`"t":`, e.Instant)
	w.textUnlessEmpty(`"trigger":`, e.Trigger)
	w.text(`"cause":`, string(e.Cause))
	w.number(`"n":`, int64(e.Attempt))
	w.numberUnlessZero(`"uncounted":`, int64(e.Uncounted))
	w.numberUnlessZero(`"b":`, e.Begun)
	w.textUnlessEmpty(`"param":`, e.Param)
	w.numberUnlessZero(`"first":`, e.First)
}

// write writes a run that waits for its next attempt.
func (r *retryJSON) write(w *written) {
	w.object(func() {
		r.entryJSON.write(w)
		w.number(`"after":`, r.After)
	})
}

// write writes an accepted request, with its ranges of items.
func (t *triggerJSON) write(w *written) {
	w.object(func() {
		w.text(`"id":`, t.ID)
		w.number(`"at":`, t.At)
		w.key(`"items":`)
		if t.Items == nil {
			w.null()
			return
		}
		w.list(len(t.Items), func(k int) { w.ints(t.Items[k][:]) })
	})
}

// write writes a row of the history that is not stored yet.
func (r *rowJSON) write(w *written) {
	w.object(func() {
		w.number(`"s":`, r.Seq)
		r.entryJSON.write(w)
		if r.Gap != nil {
			w.key(`"gap":`)
			w.numbers(r.Gap[:])
		}
		w.textUnlessEmpty(`"cron":`, r.Cron)
		w.text(`"state":`, string(r.State))
		w.textUnlessEmpty(`"why":`, r.Why)
		w.textUnlessEmpty(`"code":`, r.Code)
		w.numberUnlessZero(`"e":`, r.Ended)
		w.textUnlessEmpty(`"by":`, string(r.By))
	})
}

// written returns the JSON of the assignment.
func (v *assignmentJSON) written() []byte {
	w := &written{make([]byte, 0, 256)}
	w.object(func() {
		w.number(`"v":`, int64(v.V))
		w.number(`"total":`, int64(v.Total))
		w.key(`"members":`)
		if v.Members == nil {
			w.null()
		} else {
			w.list(len(v.Members), func(k int) { w.quoted(string(v.Members[k])) })
		}
		w.key(`"owners":`)
		w.ranges(v.Owners)
		w.byItemUnlessZero(`"packed":`, v.Packed)
		w.byItem(`"last":`, v.Last)
		w.byItemUnlessZero(`"requested":`, v.Requested)
		if len(v.Departing) > 0 {
			w.key(`"departing":`)
			w.ints(v.Departing)
		}
		v.idleJSON.write(w)
		v.pastJSON.write(w)
	})
	return w.b
}

// write writes the members of idleJSON, which are a part of a record and of the assignment.
func (j *idleJSON) write(w *written) {
	if len(j.Idle) > 0 {
		w.key(`"idle":`)
		w.list(len(j.Idle), func(k int) { w.numbers(j.Idle[k][:]) })
	}
	w.byItemUnlessZero(`"resumed":`, j.Resumed)
	w.numberUnlessZero(`"unattended":`, j.Unattended)
}

// write writes the members of pastJSON, which are a part of a record and of the assignment.
func (j *pastJSON) write(w *written) {
	w.momentsUnlessZero(`"begun":`, j.Begun)
	w.momentsUnlessZero(`"ended":`, j.Ended)
	if len(j.Flow) > 0 {
		w.key(`"flow":`)
		w.numbers(j.Flow)
	}
	if len(j.Fire) > 0 {
		w.key(`"fire":`)
		w.numbers(j.Fire)
	}
	if len(j.Crons) > 0 {
		w.key(`"crons":`)
		w.list(len(j.Crons), func(k int) { j.Crons[k].write(w) })
	}
	if j.Latest != nil {
		w.key(`"latest":`)
		w.object(func() {
			w.number(`"t":`, j.Latest.At)
			w.text(`"state":`, string(j.Latest.State))
		})
	}
	if len(j.Streaks) > 0 {
		w.key(`"streaks":`)
		w.ranges(j.Streaks)
	}
	if len(j.Tallies) > 0 {
		w.key(`"tallies":`)
		w.ranges(j.Tallies)
	}
}

// write writes a schedule that the job has followed.
func (c *cronJSON) write(w *written) {
	w.object(func() {
		w.numberUnlessZero(`"r":`, c.Rev)
		w.numberUnlessZero(`"t":`, c.Since)
		w.textUnlessEmpty(`"cron":`, c.Cron)
	})
}
