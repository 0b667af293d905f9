package runner

import (
	"bytes"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout"
)

// barred is why this server must not be in the job, and what that was made of.
type barred struct {
	config, module []byte
	shared, member bool
	lines          []string
	class          string // why it is only because the server is a member that it may
}

// heed finds out whether this server may be in the job that the view shows. If
// it may not, it is told in a line for each reason, and nothing of the job's is
// written but what a member needs to leave.
func (m *member) heed() {
	v, old := m.loop.View(), m.bars
	if v.ConfigFault != "" {
		return // the core takes care
	}
	now := barred{config: v.ConfigData, module: v.Module, shared: v.Shared(), member: m.isMember()}
	if bytes.Equal(now.config, old.config) && bytes.Equal(now.module, old.module) && now.shared == old.shared && now.member == old.member {
		return
	}
	var cautions []string
	now.lines, now.class, cautions = m.hindrances()
	m.bars = now
	m.bar(old.lines)
	if now.class != "" && now.class != old.class {
		m.Log.Warn("the registry has another class for the job", "reason", now.class)
	}
	m.troubles.set(troubleClass, now.class)
	m.troubles.set(troubleShared, strings.Join(cautions, "\n"))
}

// hindrances are what keeps this server out of the job, what would if it were not a
// member, and what is otherwise in it because of members of ElasticJob.
func (m *member) hindrances() (hindrances []string, class string, cautions []string) {
	shared := m.loop.View().Shared()
	config, module, err := definition(m.loop.View())
	switch {
	case err != nil:
		return nil, "", nil
	case config == nil && shared:
		return []string{"its configuration is gone, and members of ElasticJob are there: write config again, as they know it"}, "", nil
	case config == nil:
		return nil, "", nil
	}
	file := m.Config
	if m.Define == nil {
		file = nil
	}
	j, ok := layout.AsJoined(file, config, module)
	if !ok {
		return nil, "", nil
	}
	member := m.isMember()
	switch {
	case shared:
		known := func(string) bool { return true } // of others the core tells
		cautions = config.Cautions(j, known)
	case member:
		class = config.Stays(j)
	}
	return config.Hindrances(j, shared, member), class, cautions
}

// isMember: the server is in the job, or was until its session ended. Who had to
// leave comes back only as one that starts.
func (m *member) isMember() bool {
	return len(m.bars.lines) == 0 && (m.self != "" || m.bars.member)
}

// isBarred also counts what cannot be read, of which the core tells: nothing
// begins until it can, and a leader of ElasticJob deals items all the same.
func (m *member) isBarred() bool {
	return len(m.bars.lines) > 0 || m.loop.View().ConfigFault != "" && m.loop.View().Shared()
}

// bar tells of a change.
func (m *member) bar(was []string) {
	lines := m.bars.lines
	text := strings.Join(lines, "\n")
	if text == strings.Join(was, "\n") {
		return
	}
	m.troubles.set(troubleBarred, text)
	if len(lines) == 0 {
		m.Log.Info("this server may run the job now")
		return
	}
	for _, line := range lines {
		m.Log.Error("this server must not run the job", "reason", line)
	}
	m.defining.disputed = nil // that is for members
	m.troubles.clear(troubleDefinition)
	m.joinOnce.Do(func() { close(m.joined) })
}
