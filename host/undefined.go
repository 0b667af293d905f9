package host

import (
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/session"
)

// undefined tells, once, which jobs of the registry nobody runs, since they are in no
// file of a server that runs those of its files alone. Nobody accounts for their
// instants, so no row says that they do not run.
func (s *scout) undefined(line *session.Line) error {
	if s.told {
		return nil
	}
	all, err := line.Read(s.ctx, s.root)
	if err != nil {
		return err
	}
	var alone []string
	for _, name := range all.Children {
		if s.h.files[name] {
			continue
		}
		config, _, members := layout.NewJob(s.h.o.Namespace, name).Nodes()
		there, err := line.Read(s.ctx, config)
		if err != nil {
			return err
		}
		others, err := line.Read(s.ctx, members)
		if err != nil {
			return err
		}
		if there.Exists && len(others.Children) == 0 {
			alone = append(alone, name)
		}
	}
	for _, name := range alone {
		s.h.o.Log.Warn("a job of the registry is in no file of this server: it does not run, and no row tells of that",
			"job", name, "cure", "write it into a file again, or remove it with job remove")
	}
	s.told = true
	return nil
}
