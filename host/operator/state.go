package operator

import (
	"context"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
)

// ItemState returns the values that an item of a job keeps from run to run.
func (o *Operator) ItemState(ctx context.Context, name string, item int) (map[string][]byte, error) {
	l, err := o.found(ctx, name)
	if err != nil {
		return nil, err
	}
	_, path := l.StateOf(item)
	node, err := o.session.Read(ctx, path)
	if err != nil {
		return nil, failf(host.Unavailable, err, "read the state of item %d of job %s", item, name)
	}
	values, err := spelling.DecodeState(node)
	if err != nil {
		return nil, failf(host.Internal, err, "item %d of job %s", item, name)
	}
	if _, path = l.OffsetOf(item); path != "" { // this layout has one of the values in a node of its own
		offset, err := o.session.Read(ctx, path)
		if err != nil {
			return nil, failf(host.Unavailable, err, "read the offset of item %d of job %s", item, name)
		}
		spelling.PutOffset(values, node, offset)
	}
	return values, nil
}
