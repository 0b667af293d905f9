package sim

import (
	"context"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/strategy"
)

// assign computes the assignment with the shipped strategies.
func assign(r protocol.AssignRequest) protocol.Assigned {
	st, err := strategy.Named(r.Strategy)
	if err != nil {
		return protocol.Assigned{Request: r, Fault: err.Error()}
	}
	ids := make([]string, len(r.Instances))
	for i, id := range r.Instances {
		ids[i] = string(id)
	}
	//nolint:forbidigo // virtual time has nothing to cancel
	items, err := st.Assign(context.Background(), strategy.Request{Job: jobName, Instances: ids, Total: r.Total, Previous: r.Previous})
	if err != nil {
		return protocol.Assigned{Request: r, Fault: err.Error()}
	}
	return protocol.Assigned{Request: r, Items: items}
}
