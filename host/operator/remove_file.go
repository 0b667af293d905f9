package operator

import (
	"context"
	"strings"

	"github.com/wasmjob/wasmjob/host"
)

// refuseIfDefinedByFile refuses to remove a job that a file would bring back: the file of a server
// that runs it, at the next start, or the configuration that Compare was given.
func (o *Operator) refuseIfDefinedByFile(ctx context.Context, name string) error {
	v, _, _, err := o.presentView(ctx, "remove", name, o.outlined)
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
