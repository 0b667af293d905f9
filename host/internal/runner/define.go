package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// defineAsk is the id of the runner's own ask. The asks of callers have positive ids.
const defineAsk = -1

// defining is the progress of merging the server's own file into the registry. That
// happens once each time the file is read: later changes in the registry are intended.
type defining struct {
	done     bool                 // the file was merged, or the attempt was ended
	givenUp  bool                 // done without success: the registry refused the definition too often
	fresh    bool                 // the registry has a definition that was not compared with the file yet
	asked    bool                 // an answer is awaited
	again    bool                 // the file was read again meanwhile
	tries    int                  // number of asks since the file was read
	fault    string               // of the last ask
	disputed []definition.Dispute // as reported last
	said     []byte               // what Defined receives on success
}

// defineTries is how often the registry may refuse the definition.
const defineTries = 5

// defineAnswered handles the answer to the ask of define; fault is empty if the registry
// has the definition. After a fault, the next view makes handleViews call define again.
func (m *member) defineAnswered(fault string) {
	o := &m.defining
	o.asked, o.fault = false, fault
	o.done = fault == "" || o.tries >= defineTries
	if o.done && fault != "" {
		m.defineFailed(fmt.Errorf("given up after %d tries: %s; reload the file to try again", o.tries, fault))
		o.givenUp = true
	}
	if fault == "" && m.Defined != nil {
		m.Defined(o.said)
	}
	o.said = nil // it is large
	if o.again {
		m.inbox.put(redefineMessage{})
	}
	m.joinUnlessDefining()
}

// define merges the server's own file into the registry by definition.Merge, and reports
// the keys in which the two still differ. It is called again for each new definition in the
// registry. Once the file is merged, it only reports. Once it was given up, define only
// looks whether the registry has what the file says after all.
func (m *member) define() {
	o := &m.defining
	v := m.loop.View()
	if m.Define == nil || o.asked || m.exit.due || m.self == "" || m.admitted.Barred() || v.Config == nil || v.ConfigFault != "" {
		return
	}
	o.fresh = false
	m.report.enabled(m.file, v, m.self)
	config, module := m.Layout.Defined(v)
	if config == nil {
		return
	}
	merged, err := definition.Merge(m.Define(*m.file), config, module)
	if err != nil {
		m.defineFailed(err)
		return
	}
	m.reportDisputes(merged.Disputed)
	if o.done && !o.givenUp {
		return
	}
	ask := protocol.AskDefine{Have: v.ConfigVersion, HaveModule: protocol.NoModule}
	if module != nil {
		ask.HaveModule = v.ModuleVersion
	}
	if ask.Definition, err = m.Layout.Spell(v.Definition, merged.Definition); err != nil {
		m.defineFailed(err)
		return
	}
	there := ask.Same(v.Definition) // if so, nothing is to be written
	if o.givenUp && !there {
		return
	}
	o.said = merged.Said()
	if there {
		m.notGivenUp(merged.Disputed)
		m.defineAnswered("")
		return
	}
	if o.tries++; o.tries > 1 {
		m.Log.Warn("the registry did not take this server's configuration of the job; it is retried", "cause", o.fault)
	} else if len(merged.Changed) > 0 {
		m.Log.Info("this server's configuration of the job goes into the registry", "changes", merged.Changed)
	}
	o.asked = true
	m.step(protocol.Asked{ID: defineAsk, Ask: ask})
}

// defineFailed reports that the file cannot be merged into the registry. A new attempt
// begins when the file is read again.
func (m *member) defineFailed(err error) {
	m.defining.done, m.defining.givenUp = true, false
	m.Log.Error("this server's configuration of the job cannot be brought into the registry", "error", err)
	m.troubles.set(troubleDefinition, err.Error())
}

// notGivenUp clears the trouble of a file that the member had given up, once the registry
// has what the file says. It then reports the disputes that this trouble had replaced.
func (m *member) notGivenUp(disputes []definition.Dispute) {
	if o := &m.defining; o.givenUp {
		o.givenUp, o.disputed = false, nil
		m.troubles.clear(troubleDefinition)
		m.reportDisputes(disputes)
	}
}

// reportDisputes reports the keys that the registry and this server's file have set to
// different values.
func (m *member) reportDisputes(keys []definition.Dispute) {
	if slices.Equal(keys, m.defining.disputed) {
		return
	}
	if m.defining.disputed = keys; len(keys) == 0 {
		m.troubles.clear(troubleDefinition)
		m.Log.Info("the registry and this server's file agree on the job again")
		return
	}
	lines := make([]string, len(keys))
	for i, d := range keys {
		m.Log.Warn("the registry and this server's file differ in the job; the registry is followed until they agree, or the file says overwrite", "key", d.Key, "registry", d.Registry, "file", d.File, "because", d.Because())
		lines[i] = d.String() + "; the registry is followed until they agree, or the file says overwrite"
	}
	m.troubles.set(troubleDefinition, strings.Join(lines, "\n"))
}

// initial returns the definition that the server's own file gives to a job that is not in
// the registry. It is empty if the file does not have the job, or if the job was removed:
// a running server must not recreate it.
func (l *generations) initial() (protocol.Definition, error) {
	r := l.Runner
	if r.Define == nil || l.removed {
		return protocol.Definition{}, nil
	}
	first, err := definition.Merge(r.Define(*r.file), nil, nil)
	if err != nil {
		return protocol.Definition{}, err
	}
	return r.Layout.Spell(protocol.Definition{}, first.Definition)
}
