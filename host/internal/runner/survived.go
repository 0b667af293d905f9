package runner

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Who reclaims the runs of a member knows that its session is over, and nothing
// else. If the member was an earlier life of this very process, that is here to
// tell: it lost the registry, and how its guests ended and when is in keptTexts.

// survived are the words for what was reclaimed, when it is known that nobody died.
var survived = map[reason.Code]reason.Code{
	reason.ServerGone:             reason.RegistryLost,
	reason.ServerGoneBeforeBegin:  reason.RegistryLostBeforeBegin,
	reason.ServerGoneFailoverOff:  reason.RegistryLostFailoverOff,
	reason.ServerGoneItemGone:     reason.RegistryLostItemGone,
	reason.ServerGoneItemDisabled: reason.RegistryLostItemDisabled,
	reason.ServerGoneNextInstant:  reason.RegistryLostNextInstant,
	reason.ServerGoneAnotherRun:   reason.RegistryLostAnotherRun,
}

// maxFormer bounds how many earlier lives are remembered. What one leaves is
// reclaimed soon after its session.
const maxFormer = 16

// survive notes a life that ended with its session.
func (l *lives) survive(self job.InstanceID) {
	l.former = append(l.former[max(0, len(l.former)+1-maxFormer):], self)
}

// known is the reason of a row, as far as this process knows better.
func (l *lives) known(r *protocol.Row) reason.Reason {
	if code, ok := survived[r.Why.Code]; ok && slices.Contains(l.former, r.By) {
		return reason.Of(code)
	}
	return r.Why
}
