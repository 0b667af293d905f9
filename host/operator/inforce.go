package operator

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// InForce returns the jobs in the file of a server with the options as. Their settings are those that would be
// in force once the server has read its file: the registry's, as far as the file does not change them. A job
// that the registry does not have, or has without a readable configuration, is as in the file. So is a job that
// cannot be read; then there is an error, too.
func (o *Operator) InForce(ctx context.Context, as host.Options) ([]job.Config, error) {
	as = as.WithDefaults()
	all := slices.Clone(as.Jobs)
	denied := make([]error, len(all))
	jobs, within := errgroup.WithContext(ctx)
	jobs.SetLimit(readsAtOnce)
	for i := range all {
		jobs.Go(func() error {
			v, l, err := o.readOutline(within, all[i].Name, readsEach(len(all)))
			switch {
			case errors.Is(err, registry.ErrDenied): // go on, other jobs may be readable
				denied[i] = readError(err, "look at job %s", all[i].Name)
			case err != nil:
				return readError(err, "look at job %s", all[i].Name)
			case isJob(v):
				if config, module := l.Defined(v); config != nil {
					define := func(file job.Config) definition.Definition { return filed(&as, l, file) }
					all[i], _ = definition.AsJoined(&all[i], define, config, module) // with a file it succeeds
				}
			}
			return nil
		})
	}
	if err := jobs.Wait(); err != nil {
		return all, err //nolint:wrapcheck // its functions return our errors
	}
	for _, err := range denied {
		if err != nil {
			return all, err
		}
	}
	return all, nil
}
