package registry

import (
	"errors"
	"fmt"
)

var (
	// ErrConflict: an op was refused, and nothing was applied.
	ErrConflict = errors.New("registry: refused")
	// ErrUnknown: the transaction may or may not have been applied, or may be applied later.
	// Settle it with Sync and a new read.
	ErrUnknown = errors.New("registry: outcome unknown")
	// ErrEnded: the session is over; nothing was applied.
	ErrEnded = errors.New("registry: session ended")
	// ErrReadOnly: the service takes no writes at present, for example because its disk is
	// full; nothing was applied. A later attempt may succeed.
	ErrReadOnly = errors.New("registry: read-only")
	// ErrTooLarge: the transaction exceeds the service's limit; nothing was applied.
	ErrTooLarge = errors.New("registry: transaction too large")
	// ErrDenied: this user has no permission; nothing was applied. The wrapping error names the
	// path. Further attempts fail, too, until the node's permissions or the user change.
	ErrDenied = errors.New("registry: permission denied")
)

// Reason says why an op was refused.
type Reason uint8

const (
	NoNode Reason = iota + 1
	NodeExists
	BadVersion
	NotEmpty
	NoParent
	// EphemeralParent: ephemeral nodes have no children.
	EphemeralParent
	// BadPath: not an absolute, clean path.
	BadPath
)

var reasonTexts = [...]string{ // read only
	NoNode: "no such node", NodeExists: "node exists", BadVersion: "version differs", NotEmpty: "node has children",
	NoParent: "no parent node", EphemeralParent: "parent is ephemeral", BadPath: "bad path",
}

// String returns the reason in words.
func (r Reason) String() string {
	if r == 0 || int(r) >= len(reasonTexts) {
		return "refused"
	}
	return reasonTexts[r]
}

// ConflictError names the first op that was refused.
type ConflictError struct {
	Index  int // in the ops of the transaction
	Op     Op
	Reason Reason
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("op %d on %s: %s", e.Index, e.Op.Path, e.Reason)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }
