package layout

import (
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/servertree"
	"github.com/wasmjob/wasmjob/host/internal/layout/v1"
	"github.com/wasmjob/wasmjob/host/internal/layout/v20"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// OlderMember is a server of a job of layout 1 or 2.0.
type OlderMember = servertree.Member

// older reads a job of layout 1 or 2.0. A value that cannot be read is told by Unreadable.
func (f *Form) older(l Layout, config registry.Node, read func(path string) (registry.Node, error)) error {
	j, err := servertree.Read(l.Root(), read)
	if err != nil {
		return err
	}
	f.Leader, f.Older, f.Unreadable = job.InstanceID(j.Leader), j.Servers, j.Fault
	var fault error
	if f.Layout == layout20 {
		fault = f.config20(config)
	} else {
		fault, err = f.config1(l, read)
	}
	if fault != nil && f.Unreadable == nil {
		f.Unreadable = fmt.Errorf("%s: %w", l.At(jobtree.NodeConfig), fault)
	}
	return err
}

func (f *Form) config20(n registry.Node) error {
	c, err := v20.DecodeConfig(n.Data)
	if err != nil || c == nil {
		return err
	}
	f.Class, f.Type = c.JobClass, string(c.JobType)
	return nil
}

// config1 returns a fault of the configuration, and an error of the registry.
func (f *Form) config1(l Layout, read func(path string) (registry.Node, error)) (fault, err error) {
	c, fault := v1.Decode(func(key string) (string, bool) {
		n, failed := read(l.At(jobtree.NodeConfig) + "/" + key)
		if failed != nil {
			err = failed
		}
		return string(n.Data), n.Exists
	})
	if err != nil || fault != nil {
		return fault, err
	}
	f.Class, f.Type = c.JobClass, string(c.JobType)
	return nil, nil
}
