package runner

import (
	"bytes"
	"reflect"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// effective is the job's configuration as it is in force: what the registry
// says over what the server's own file says.
type effective struct {
	data   []byte // the registry's text it was made of
	config job.Config
	params map[int]string
}

// configure follows the view. A text that cannot be read changes nothing here;
// the core reports it and begins nothing.
func (m *member) configure() {
	v := m.view
	if v.Config == nil || v.ConfigFault != "" || m.effective.data != nil && bytes.Equal(v.ConfigData, m.effective.data) {
		return
	}
	c, err := layout.DecodeConfig21(v.ConfigData)
	if err != nil || c == nil {
		return
	}
	e := effective{data: v.ConfigData, config: c.Apply(m.Config)}
	if e.params, err = job.ParseItemParams(e.config.ItemParams); err != nil {
		m.Log.Error("the item parameters in the registry cannot be read, guests get none", "error", err)
	}
	m.effective = e
	m.fire = fire{}
}

// overwriteAsk is the id of the runner's own wish; callers' ids are positive.
const overwriteAsk = -1

// overwriting is how far the local configuration got into the registry.
type overwriting struct {
	done  bool // nothing more to do in this session
	asked bool // the answer is awaited
	tries int
	fault string
}

const overwriteTries = 5

func (o *overwriting) answered(fault string) {
	o.asked, o.fault = false, fault
	o.done = fault == "" || o.tries >= overwriteTries
}

// reconfigure sees, once in a session, to a configuration in the registry that
// is not the server's own: it is replaced if that is wanted, else reported.
func (m *member) reconfigure() {
	o := &m.overwrite
	v := m.view
	if o.done || o.asked || m.over || m.self == "" || v.Config == nil || v.ConfigFault != "" {
		return
	}
	m.sayEnabled()
	local := layout.FromJob(m.Config)
	there, err := layout.DecodeConfig21(v.ConfigData)
	if err != nil || there == nil {
		return
	}
	keys := differing(there, &local, m.Config.Class == "")
	if !m.Config.Overwrite || len(keys) == 0 {
		o.done = true
		if len(keys) > 0 {
			m.Log.Warn("the registry has another configuration, which is used; set overwrite to replace it", "differs", keys)
		}
		return
	}
	data, err := layout.UpdateConfig21(v.ConfigData, &local)
	if err != nil {
		o.done = true
		m.Log.Error("the configuration in the registry cannot be replaced", "error", err)
		return
	}
	if o.tries++; o.tries > 1 {
		m.Log.Warn("the configuration in the registry was not replaced, trying again", "cause", o.fault)
	} else {
		m.Log.Info("replacing the configuration in the registry", "differs", keys)
	}
	o.asked = true
	m.step(protocol.Asked{ID: overwriteAsk, Ask: protocol.AskConfig{Data: data, Have: v.ConfigVersion}})
}

// sayEnabled tells, once in a session, that a job is not disabled here although
// the server's own file says so: that counts when the server is new to the job,
// later an operator's word does.
func (m *member) sayEnabled() {
	if !m.Config.Disabled || m.toldEnabled {
		return
	}
	m.toldEnabled = true
	for _, s := range m.view.Servers {
		if s.IP == m.self.IP() && !s.Disabled {
			m.Log.Warn("disabled = true has no effect: the registry knows this server for the job, as enabled; disable it there", "server", s.IP)
		}
	}
}

// differing names the settings in which a and b differ. Without a class of its
// own a job does not mind what class is there.
func differing(a, b *layout.Config21, anyClass bool) []string {
	var names []string
	va, vb := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range va.NumField() {
		name := va.Type().Field(i).Name
		if name == "JobClass" && anyClass || va.Field(i).Interface() == vb.Field(i).Interface() {
			continue
		}
		names = append(names, name)
	}
	return names
}
