package operator

import (
	"context"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Deed is what a write does, in the words of its row of the audit.
type Deed struct {
	Verb   string `json:"verb"`
	Job    string `json:"job,omitempty"`
	Detail string `json:"detail,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Warning is what would keep it from having its effect.
	Warning string `json:"warning,omitempty"`
}

// DryRun makes the Operator decide on writes, and refuse those that it would refuse, without doing
// any of them from now on. What only the write itself shows, as that the registry does not
// permit it, stays unknown.
func (o *Operator) DryRun() {
	o.dry = true
	o.session = unwritable{o.session}
}

// Deeds are the writes that DryRun kept from happening, in their order.
func (o *Operator) Deeds() []Deed { return o.deeds }

// unwritable is a session for dry runs. It refuses a write that was not asked for by way of commit.
type unwritable struct{ registry.Session }

// Commit implements registry.Session.
func (unwritable) Commit(context.Context, ...registry.Op) (registry.Receipt, error) {
	return registry.Receipt{}, failf(host.Refused, nil, "this cannot be tried by a dry run: it writes before it knows what to do")
}
