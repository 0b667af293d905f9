package migration

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/v1"
	"github.com/wasmjob/wasmjob/host/internal/layout/v20"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/layout/v3"
	"github.com/wasmjob/wasmjob/host/job"
)

// config puts the configuration into the intended tree, in the layout that the job moves
// to. That of any layout is first converted to 2.1.
func (m *moving) config() error {
	c, text, err := m.read()
	if err != nil {
		return fmt.Errorf("%s: expected the configuration of layout %s: %w", jobtree.NodeConfig, m.from, err)
	}
	if m.to == job.Layout3 {
		later, err := m.later(c, text)
		if err != nil {
			return err
		}
		if text, err = v3.EncodeConfig(later); err != nil {
			return err
		}
		m.want.put("", []byte(later.Class))
	}
	m.want.put(jobtree.NodeConfig, text)
	return m.readable()
}

// read returns the configuration in layout 2.1, with its text.
func (m *moving) read() (c v21.Config, text []byte, err error) {
	if m.from == job.Layout1 {
		if c, err = m.readKeys(); err == nil {
			text, err = v21.EncodeConfig(c)
		}
		return c, text, err
	}
	text = m.tree[jobtree.NodeConfig].Data
	if m.from == job.Layout20 { // members of layout 2.1 read its text as it is
		if _, err := v20.DecodeConfig(text); err != nil {
			return c, nil, err
		}
	}
	read, err := v21.DecodeConfig(text)
	switch {
	case err != nil:
		return c, nil, err
	case read == nil:
		return c, nil, errors.New("it is empty")
	}
	return *read, text, nil
}

// readKeys reads the configuration of layout 1.
func (m *moving) readKeys() (v21.Config, error) {
	old, err := v1.Decode(func(key string) (string, bool) {
		n, ok := m.tree[jobtree.NodeConfig+"/"+key]
		return string(n.Data), ok
	})
	if err != nil {
		return v21.Config{}, err
	}
	c := old.Later(m.name)
	if old.JobType == v1.Untyped {
		c.JobType = m.kind()
	}
	m.noteKeys(old)
	return c, nil
}

// kind returns the kind of a job of a release before 1.1. Such releases do not write it,
// but only a dataflow leaves counts and offsets.
func (m *moving) kind() v21.JobType {
	kind := v21.Simple
	for path := range m.tree {
		if strings.HasPrefix(path, "offset/") || strings.HasSuffix(path, "/processSuccessCount") {
			kind = v21.Dataflow
		}
	}
	m.note("config/jobType: releases before 1.1 write none; by what its members have left it is %s", kind)
	return kind
}

// noteKeys names the keys of layout 1 that no later layout has.
func (m *moving) noteKeys(old *v1.Config) {
	if old.JobType == v1.Dataflow || old.JobType == v1.Untyped {
		if n := old.FetchDataCount; n != 1 {
			m.note("config/fetchDataCount: no later layout has it; servers of ours take fetch_count = %d from their file", n)
		}
		if n := old.ConcurrentDataProcessThreadCount; n != 1 {
			m.note("config/concurrentDataProcessThreadCount: no later layout has it; servers of ours take concurrency = %d from their file", n)
		}
		if n := old.ProcessCountIntervalSeconds; n != v1.Default().ProcessCountIntervalSeconds {
			m.note("config/processCountIntervalSeconds: no later layout has it; servers of ours always count")
		}
	}
	entries, _ := v1.Encode(*old) // it was decoded, so it can be encoded
	known := []string{"jobType"}
	for _, e := range entries {
		known = append(known, e.Key)
	}
	for _, key := range m.tree[jobtree.NodeConfig].Children {
		if !slices.Contains(known, key) {
			m.note("config/%s: it is no key of a job of this type", key)
		}
	}
}

// later converts a configuration of layout 2.1 to layout 3. It refuses a class whose name is
// that of a type of job there.
func (m *moving) later(c v21.Config, text []byte) (v3.Config, error) {
	plain := v21.Default().JobProperties
	for _, class := range []struct{ key, is, plain string }{
		{"job_exception_handler", c.JobProperties.JobExceptionHandler, plain.JobExceptionHandler},
		{"executor_service_handler", c.JobProperties.ExecutorServiceHandler, plain.ExecutorServiceHandler},
	} {
		if class.is != class.plain {
			m.note("jobProperties.%s: layout 3 names types, no classes; %s is left out", class.key, class.is)
		}
	}
	j := c.Apply(job.Config{Name: c.JobName, Class: c.JobClass, Kind: c.Facts().Kind, Command: c.ScriptCommandLine})
	if j.MonitorPort > 0 {
		m.note("monitorPort: layout 3 has none; %d is left out", j.MonitorPort)
		j.MonitorPort = 0
	}
	later := v3.FromJob(j)
	if s := later.JobShardingStrategyType; strings.Contains(s, ".") {
		m.note("jobShardingStrategyClass: layout 3 names types; members of ElasticJob need a strategy of the type %s", s)
	}
	for _, key := range v21.Unknown(text) {
		m.note("%s: no release of ElasticJob knows the key, and layout 3 refuses such; it is left out", key)
	}
	if is, was := later.Facts(), c.Facts(); is.HTTP || is.Kind != was.Kind {
		return later, fmt.Errorf("jobClass: layout 3 takes %.100q for a type of job; give the class another name", c.JobClass)
	}
	return later, nil
}
