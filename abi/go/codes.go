package wasmjob

// What host and guest agree on, spelled as in package abi of the host; a test
// over there compares the two. This module cannot import that one, as it would
// tie every job to the host's dependencies.
const (
	fieldJobName       = 1
	fieldTaskID        = 2
	fieldJobParam      = 3
	fieldShardingParam = 4
	fieldInstanceID    = 5
	fieldModuleDigest  = 7
	fieldSeed          = 8
	fieldRunID         = 9

	fieldShardingTotal = 100
	fieldShardingItem  = 101
	fieldFireTime      = 102
	fieldDeadline      = 103
	fieldAttempt       = 104
	fieldFailover      = 105
	fieldMisfire       = 106
	fieldFence         = 109
	fieldScheduledTime = 110

	noInt = -1 << 63

	errUnknownField = -1
	errDenied       = -2
	errNotFound     = -3
	errInvalid      = -4
	errLimit        = -5
	errCancelled    = -6
	errTimeout      = -7
	errIO           = -8
	errConflict     = -9
	errWrongPhase   = -10
	errInternal     = -11

	resultOK        = 0
	resultFailed    = 1
	resultRetryable = 2
	resultSkipped   = 3
	resultAuthor    = 128
)

// Level is how much a log line matters.
type Level int32

// The levels of a log line.
const (
	LevelTrace Level = 0
	LevelDebug Level = 1
	LevelInfo  Level = 2
	LevelWarn  Level = 3
	LevelError Level = 4
	levelNone  Level = 5
)

// Reason is why a run should stop.
type Reason int32

// The reasons that Context.Cancelled gives.
const (
	Continue        Reason = 0
	StopDeadline    Reason = 1
	StopShutdown    Reason = 2
	StopDisabled    Reason = 3
	StopResharding  Reason = 4
	StopSessionLost Reason = 5
)

// String names the reason.
func (r Reason) String() string {
	switch r {
	case Continue:
		return "continue"
	case StopDeadline:
		return "deadline"
	case StopShutdown:
		return "shutdown"
	case StopDisabled:
		return "job disabled"
	case StopResharding:
		return "resharding"
	case StopSessionLost:
		return "registry session lost"
	}
	return "unknown reason"
}

// HostError is a refusal of the host.
type HostError int32

// The refusals that a job may meet.
const (
	ErrDenied    HostError = errDenied
	ErrNotFound  HostError = errNotFound
	ErrInvalid   HostError = errInvalid
	ErrLimit     HostError = errLimit
	ErrCancelled HostError = errCancelled
)

// Error names the refusal.
func (e HostError) Error() string {
	switch e {
	case errUnknownField:
		return "host: unknown field"
	case errDenied:
		return "host: not granted"
	case errNotFound:
		return "host: not found"
	case errInvalid:
		return "host: invalid argument"
	case errLimit:
		return "host: limit exceeded"
	case errCancelled:
		return "host: run is being stopped"
	case errTimeout:
		return "host: timed out"
	case errIO:
		return "host: input or output failed"
	case errConflict:
		return "host: conflict"
	case errWrongPhase:
		return "host: not now"
	case errInternal:
		return "host: internal error"
	}
	return "host: unknown error"
}

func check(code int32) error {
	if code < 0 {
		return HostError(code)
	}
	return nil
}
