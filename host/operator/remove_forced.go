package operator

import (
	"context"
	"strings"

	"github.com/wasmjob/wasmjob/host"
)

// refuseUnlessForced refuses to remove a job whose configuration cannot be read: half of its nodes may
// be of another layout, whose members this view does not show. It also refuses a job that a file would
// create again: the file of a server that runs it, at its next start, or the configuration that Compare
// was given.
func (o *Operator) refuseUnlessForced(ctx context.Context, name string) error {
	v, _, _, err := o.presentView(ctx, "remove", name, o.outlined)
	if err != nil {
		return err
	}
	if v.ConfigFault != "" {
		return unlessForced("remove job %s: its configuration cannot be read, so members of it may go unseen: %s", name, v.ConfigFault)
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
	return unlessForced("remove job %s: it would come back from %s; %s", name, strings.Join(files, ", "), cure)
}

// unlessForced is a refusal that the parameter Force overrides.
func unlessForced(format string, args ...any) error {
	refused := failf(host.Refused, nil, format, args...)
	refused.Unless = Force
	return refused
}
