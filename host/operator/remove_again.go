package operator

import (
	"context"
	"strings"

	"github.com/wasmjob/wasmjob/host"
)

// returns is refused for a job that files bring back after Remove: those of
// servers that run it, when they start next, and what Compare was given.
func (o *Operator) returns(ctx context.Context, name string) error {
	v, _, err := o.whole(ctx, name)
	if err != nil {
		return err
	}
	var files []string
	cure := "take it out there"
	for _, m := range v.Members {
		if m.Defines {
			files, cure = append(files, "the file of "+string(m.ID)), "take it out there and reload it (kill -HUP)"
		}
	}
	if o.files[name] != nil {
		files = append(files, "the configuration that was read here")
	}
	if len(files) == 0 {
		return nil
	}
	refused := failf(host.Refused, nil, "remove job %s: it would come back from %s; %s", name, strings.Join(files, ", "), cure)
	refused.Unless = Force
	return refused
}
