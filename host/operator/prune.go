package operator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
)

// unusedFor is how long a server keeps a module that nothing uses. An operator who uploads a
// module has this time to give it a name or a job.
const unusedFor = 24 * time.Hour

// Prune has the parameters of PruneModules.
type Prune struct {
	DryRun bool // only report
	Here   bool // only on the server that is asked
	// Remove is host.PruneModules on the server that was asked; nil: it cannot.
	Remove func(before time.Time, dry bool, used func() (map[string]bool, error)) ([]host.HeldModule, error)
}

// PruneReport has what a prune removed, or would remove.
type PruneReport struct {
	Version int            `json:"version"`
	DryRun  bool           `json:"dry_run"`
	Bytes   int64          `json:"bytes"`
	Removed []PrunedModule `json:"removed"`
	// Others are the other servers of the cluster, each with what was removed there.
	Others []PrunedElsewhere `json:"other_servers,omitempty"`
	// Unread are servers that did not answer, with the reasons.
	Unread []string `json:"unread,omitempty"`
}

// PrunedElsewhere is what another server has removed.
type PrunedElsewhere struct {
	Server  string         `json:"server"`
	Bytes   int64          `json:"bytes"`
	Removed []PrunedModule `json:"removed"`
}

// PrunedModule is a module that nothing uses.
type PrunedModule struct {
	Digest string    `json:"digest"`
	Size   int64     `json:"bytes"`
	Since  time.Time `json:"here_since"` // when the server got it last
}

// PruneModules removes modules from the disk of the asked server that have no name, that no
// job of the cluster uses and that are older than a day. A job uses the modules that it
// runs, is to run, or can go back to. If one job cannot be read, nothing is removed. On an
// error, the report lists what was removed before it.
func (o *Operator) PruneModules(ctx context.Context, p Prune) (PruneReport, error) {
	report := PruneReport{Version: 1, DryRun: p.DryRun, Removed: []PrunedModule{}}
	if p.Remove == nil {
		return report, failf(host.Refused, nil, "prune modules: this server keeps none")
	}
	gone, err := p.Remove(time.Now().Add(-unusedFor), p.DryRun, func() (map[string]bool, error) { return o.usedModules(ctx) })
	for _, h := range gone {
		report.Removed = append(report.Removed, PrunedModule(h))
		report.Bytes += h.Size
	}
	if len(gone) == 0 || p.DryRun {
		return report, err
	}
	// The modules are removed: write the row even if the client has gone away.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), notePatience)
	defer cancel()
	if noted := o.Note(after, "module prune", fmt.Sprintf("removed=%d bytes=%d", len(gone), report.Bytes)); err == nil {
		err = noted
	}
	return report, err
}

// usedModules returns the digests of the modules that jobs use now. It reads every job, since
// cached reports may be out of date.
func (o *Operator) usedModules(ctx context.Context) (map[string]bool, error) {
	const what = "look which modules are used"
	if err := o.session.Sync(ctx); err != nil {
		return nil, readError(err, what)
	}
	names, err := o.Names(ctx)
	if err == nil && len(names) == 0 { // in a mistyped namespace, nothing would be in use
		err = o.Namespace(ctx)
	}
	if err != nil {
		return nil, err
	}
	all, err := o.outlines(ctx, names, true)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	var unread []string
	for _, of := range all {
		if unreadModules(of.report) {
			unread = append(unread, of.report.Name)
		}
		for ref := range of.report.Modules.named() {
			used[ref.Digest] = true
		}
	}
	named, err := o.Named(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range named {
		used[n.Digest] = true
	}
	if len(unread) > 0 {
		return nil, failf(host.Refused, nil, "%s: in the registry, the modules of these jobs cannot be read: %.512s; see job show", what, strings.Join(unread, ", "))
	}
	return used, nil
}
