package runner

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// barred is why this server must not be in the job, and what that was made of.
type barred struct {
	definition     protocol.Definition
	shared, member bool
	why            []reason.Reason
	class          []reason.Reason // why it may only as long as no member of ElasticJob is there
}

// heed finds out whether this server may be in the job that the view shows. If
// it may not, it is told in a line for each reason, and nothing of the job's is
// written but what a member needs to leave.
func (m *member) heed() {
	v, old := m.loop.View(), m.bars
	if v.ConfigFault != "" {
		return // the core takes care
	}
	now := barred{definition: v.Definition, shared: v.Shared(), member: m.isMember()}
	if now.definition.Same(old.definition) && now.shared == old.shared && now.member == old.member {
		return
	}
	var cautions []reason.Reason
	now.why, now.class, cautions = m.hindrances()
	m.bars = now
	m.bar(old.why)
	if len(now.class) > 0 && !slices.Equal(now.class, old.class) {
		m.Log.Error("the registry has another class for the job", "reason", reason.Words(now.class, "; "), "reason_code", now.class[0].Code)
	}
	m.troubles.because(troubleClass, now.class)
	m.troubles.because(troubleShared, cautions)
}

// hindrances are what keeps this server out of the job, what would beside members of
// ElasticJob though the job is ours, and what is otherwise in it because of members of ElasticJob.
func (m *member) hindrances() (hindrances, class, cautions []reason.Reason) {
	shared := m.loop.View().Shared()
	config, module := m.Layout.Defined(m.loop.View())
	switch {
	case config == nil && shared:
		return []reason.Reason{reason.Of(reason.ConfigGoneWithForeign)}, nil, nil
	case config == nil:
		return nil, nil, nil
	}
	file := m.file
	if m.Define == nil {
		file = nil
	}
	j, ok := definition.AsJoined(file, m.Layout.Define, config, module)
	if !ok {
		return nil, nil, nil
	}
	stays := m.isMember() || len(m.bars.why) == 0 && m.Define != nil && module.StandsFor(j)
	switch {
	case shared:
		known := func(string) bool { return true } // of others the core tells
		cautions = layout.Cautions(config, j, known)
	case stays:
		class = layout.Stays(config, j)
	}
	return layout.Hindrances(config, j, shared, stays), class, cautions
}

// isMember: the server is in the job, or was until its session ended. Who had to
// leave, or was not let in, comes only when that is mended.
func (m *member) isMember() bool {
	return len(m.bars.why) == 0 && (m.self != "" || m.bars.member)
}

// isBarred also counts what cannot be read, of which the core tells: nothing
// begins until it can, and a leader of ElasticJob deals items all the same.
func (m *member) isBarred() bool {
	return len(m.bars.why) > 0 || m.loop.View().ConfigFault != "" && m.loop.View().Shared()
}

// bar tells of a change.
func (m *member) bar(was []reason.Reason) {
	if slices.Equal(m.bars.why, was) {
		return
	}
	m.troubles.because(troubleBarred, m.bars.why)
	if len(m.bars.why) == 0 {
		m.Log.Info("this server may run the job now")
		return
	}
	for _, why := range m.bars.why {
		m.Log.Error("this server must not run the job", "reason", why.String(), "reason_code", why.Code)
	}
	m.defining.disputed = nil // that is for members
	m.troubles.clear(troubleDefinition)
	m.joinOnce.Do(func() { close(m.joined) })
}
