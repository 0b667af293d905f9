package runner

import (
	"context"
	"fmt"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Preparer is implemented by Guests that must load a job's code before it can run.
type Preparer interface {
	// Prepare makes the code that c runs ready, and keeps it ready until the next call.
	Prepare(ctx context.Context, c job.Config) error
}

// maxFault bounds the text in the registry about a module that is not ready.
const maxFault = 500

// prepareModule makes the next module ready on this server and passes the result to the
// core, since no member switches before it is ready on all. A newer call ends the one before.
func (m *member) prepareModule(e protocol.Prepare) {
	ctx, end := m.calls.preparation.begin(m.life.ctx)
	c := *m.effective.job
	c.ModuleDigest = e.Digest
	m.life.start(func() {
		defer end()
		in := protocol.Prepared{Ready: protocol.Ready{Digest: e.Digest}}
		if p, ok := m.Guests.(Preparer); ok {
			if err := p.Prepare(ctx, c); err != nil {
				in.Fault = strings.ToValidUTF8(err.Error()[:min(len(err.Error()), maxFault)], "")
			}
		}
		m.inbox.put(inputMessage{in})
	})
}

// nextModuleAwaited lists the members on which the next module is not ready yet.
func nextModuleAwaited(v *protocol.View) []reason.Reason {
	if v.Next == "" {
		return nil
	}
	var who []string
	for _, m := range v.Members {
		switch {
		case m.Ready.Digest != v.Next:
			who = append(who, string(m.ID))
		case m.Ready.Fault != "":
			who = append(who, fmt.Sprintf("%s (%s)", m.ID, m.Ready.Fault))
		}
	}
	if len(who) == 0 {
		return nil
	}
	return []reason.Reason{reason.Of(reason.NextModuleAwaited, fmt.Sprintf("%.12s", v.Next), strings.Join(who, ", "))}
}
