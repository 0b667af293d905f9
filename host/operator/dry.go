package operator

import (
	"context"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Deed describes a write in the words of its audit row.
type Deed struct {
	Verb   string `json:"verb"`
	Job    string `json:"job,omitempty"`
	Detail string `json:"detail,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Warning is what would keep the write from taking effect.
	Warning string `json:"warning,omitempty"`
}

// DryRun makes the Operator check all further writes, and refuse those that it would refuse, but
// apply none. Errors of the write itself, such as a missing permission in the registry, stay
// unknown.
func (o *Operator) DryRun() {
	o.dry = true
	o.session = unwritable{o.session}
}

// Deeds returns the writes that were not applied because of DryRun, in order.
func (o *Operator) Deeds() []Deed { return o.deeds }

// unwritable is the session of a dry run. It refuses writes that bypass Operator.commit.
type unwritable struct{ registry.Session }

// Commit implements registry.Session.
func (unwritable) Commit(context.Context, ...registry.Op) (registry.Receipt, error) {
	return registry.Receipt{}, failf(host.Refused, nil, "this has no dry run: it has to write before it can decide")
}
