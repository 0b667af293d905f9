package wasmjob

// The codes that host and guest share, with the names of package abi of the host; a test
// there compares the two. This module does not import that package, because it would tie
// every job to the host's dependencies.
const (
	fieldJobName       = 1
	fieldTaskID        = 2
	fieldJobParam      = 3
	fieldShardingParam = 4
	fieldInstanceID    = 5
	fieldNamespace     = 6
	fieldModuleDigest  = 7
	fieldSeed          = 8
	fieldRunID         = 9
	fieldReason        = 10

	fieldShardingTotal = 100
	fieldShardingItem  = 101
	fieldFireTime      = 102
	fieldDeadline      = 103
	fieldAttempt       = 104
	fieldFailover      = 105
	fieldMisfire       = 106
	fieldHostMinor     = 107
	fieldStreaming     = 108
	fieldFence         = 109
	fieldScheduledTime = 110
	fieldFetchCount    = 111
	fieldOutcome       = 112
	fieldFireSucceeded = 113
	fieldFireFailed    = 114
	fieldFireSkipped   = 115

	noInt = -1 << 63

	resultOK        = 0
	resultFailed    = 1
	resultRetryable = 2
	resultSkipped   = 3
	resultLate      = 4
	resultAuthor    = 128
)

// Level is the importance of a log line.
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

// Outcome is the outcome of one element of a batch.
type Outcome int32

// The outcomes that Batch.Ack takes.
const (
	AckDone   Outcome = 0
	AckFailed Outcome = 1
	// AckRetry requests that the element be passed again; if it is marked so again, it
	// has failed.
	AckRetry Outcome = 2
)

// Reason is why a run should stop.
type Reason int32

// The reasons that Context.Cancelled returns.
const (
	Continue        Reason = 0
	StopDeadline    Reason = 1
	StopShutdown    Reason = 2
	StopDisabled    Reason = 3
	StopResharding  Reason = 4
	StopSessionLost Reason = 5
)

// String returns the name of the reason.
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

// HostError is an error code of the host. Errors of this package's methods also say what
// was attempted; errors.Is finds the HostError in them.
type HostError int32

// The errors that a job may meet.
const (
	ErrUnknownField HostError = -1  // the host knows no such field
	ErrDenied       HostError = -2  // the job is not granted this
	ErrNotFound     HostError = -3  // there is no such value
	ErrInvalid      HostError = -4  // an argument is invalid
	ErrLimit        HostError = -5  // a size, count or rate was exceeded
	ErrCancelled    HostError = -6  // the run is being stopped
	ErrTimeout      HostError = -7  // the operation took too long
	ErrIO           HostError = -8  // input or output failed
	ErrConflict     HostError = -9  // another caller was first
	ErrWrongPhase   HostError = -10 // must not be called now
	ErrInternal     HostError = -11 // a fault of the host
)

// Error returns the name of the error.
func (e HostError) Error() string {
	switch e {
	case ErrUnknownField:
		return "unknown field"
	case ErrDenied:
		return "not granted"
	case ErrNotFound:
		return "not found"
	case ErrInvalid:
		return "invalid argument"
	case ErrLimit:
		return "limit exceeded"
	case ErrCancelled:
		return "the run is being stopped"
	case ErrTimeout:
		return "timed out"
	case ErrIO:
		return "input or output failed"
	case ErrConflict:
		return "conflict"
	case ErrWrongPhase:
		return "not possible now"
	case ErrInternal:
		return "internal error of the host"
	}
	return "unknown error of the host"
}
