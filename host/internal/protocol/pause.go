package protocol

import (
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Pause is an operator's pause of the job. A pause with an end is over by itself, and its
// node stays until an operator writes again. So nothing needs to run to end it, and
// instants before its end are still known to have come during it.
type Pause struct {
	By    string
	Why   string
	Since int64 // 0: unknown
	Until int64 // by the registry's clock; 0: until an operator resumes the job
}

// PausedAt reports whether the job is paused at a moment of the registry's clock.
func (v *View) PausedAt(t int64) bool { return v.Paused && (v.Pause.Until == 0 || t < v.Pause.Until) }

// cameInPause reports whether the instant came during the pause, which may be over.
func (v *View) cameInPause(t int64) bool { return v.PausedAt(t) && t >= v.Pause.Since }

// paused reports whether nothing scheduled begins now.
func (s *State) paused() bool { return s.view.PausedAt(s.registryTime()) }

// pauseOver is when the pause ends by the own clock; 0 if it is over, has no end, or there
// is none.
func (s *State) pauseOver() int64 {
	if s.self == "" || s.view.Pause.Until == 0 || !s.paused() {
		return 0
	}
	return s.view.Pause.Until + s.clock.skew
}

// reportPauseOver reports in the log that a pause that this member has seen is over by
// itself: its end has passed, and the node is still the same.
func (s *State) reportPauseOver(p *Plan) {
	if over := s.pauseOver(); over != 0 {
		s.schedule.ends = s.view.Pause.Until
		return
	}
	if s.schedule.ends != 0 && s.view.Paused && s.view.Pause.Until == s.schedule.ends {
		p.add(Note{Why: reason.Of(reason.PauseOver)})
	}
	s.schedule.ends = 0
}

// Reason is why something does not begin during the pause.
func (p Pause) Reason() reason.Reason {
	return reason.Of(reason.JobPaused, p.By, p.End(), p.Why)
}

// End is when the pause ends, as text; "" if it has no end.
func (p Pause) End() string {
	if p.Until == 0 {
		return ""
	}
	return time.UnixMilli(p.Until).UTC().Format(time.RFC3339)
}
