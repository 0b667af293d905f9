package operator

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/status"
)

// maxUses is the limit of uses that a list names for a module; it only counts the others.
const maxUses = 100

// Held lists the modules on the disk of one server.
type Held func() ([]host.HeldModule, error)

// ModuleList has the modules that jobs name, and those that the asked server has on its
// disk, by digest.
type ModuleList struct {
	Modules []ModuleVersion
	// Unread are jobs whose modules cannot be read. They may use any module.
	Unread []string
}

// ModuleVersion is one module with what uses it.
type ModuleVersion struct {
	ModuleRef             // as the first of the jobs names it
	Size      int64       `json:"bytes_here,omitempty"` // on the disk of the asked server; 0: it is not there
	Since     time.Time   `json:"here_since,omitzero"`  // when that server got it last
	Names     []string    `json:"names,omitempty"`      // NAME@VERSION, ascending
	Count     int         `json:"uses"`                 // jobs and names; 0: nothing uses it
	Uses      []ModuleUse `json:"used_by"`              // the first 100
}

// ModuleUse is a job that needs a module.
type ModuleUse struct {
	Job string `json:"job"`
	As  string `json:"as"` // runs, next, before or strategy
}

// Modules lists modules with the jobs that use them, including those that a job can go back to.
// here lists what the asked server has on its disk; nil: that is not known.
func (o *Operator) Modules(ctx context.Context, here Held) (ModuleList, error) {
	jobs, err := o.Jobs(ctx)
	if err != nil {
		return ModuleList{}, err
	}
	found := map[string]*ModuleVersion{}
	version := func(digest string) *ModuleVersion {
		m := found[digest]
		if m == nil {
			m = &ModuleVersion{ModuleRef: ModuleRef{Digest: digest}, Uses: []ModuleUse{}}
			found[digest] = m
		}
		return m
	}
	var list ModuleList
	for i := range jobs {
		j := &jobs[i]
		if unreadModules(j) {
			list.Unread = append(list.Unread, j.Name)
		}
		for ref, as := range j.Modules.named() {
			m := version(ref.Digest)
			if m.Count == 0 {
				m.ModuleRef = ref
			}
			if m.Count++; len(m.Uses) < maxUses {
				m.Uses = append(m.Uses, ModuleUse{j.Name, as})
			}
		}
	}
	named, err := o.Named(ctx)
	if err != nil {
		return ModuleList{}, err
	}
	for _, n := range named {
		m := version(n.Digest)
		m.Count++
		m.Names = append(m.Names, n.String())
		if m.Name == "" {
			m.Name = n.Name
		}
	}
	if here != nil {
		held, err := here()
		if err != nil {
			return ModuleList{}, err
		}
		for _, h := range held {
			m := version(h.Digest)
			m.Size, m.Since = h.Size, h.Since
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(found)) {
		list.Modules = append(list.Modules, *found[digest])
	}
	return list, nil
}

// unreadModules reports whether it is not known which modules a job uses.
func unreadModules(j *JobReport) bool { return j.State == status.Unreadable || j.Modules.Unread }

// named yields the modules that a job needs, each with its ModuleUse.As.
func (r *ModulesReport) named() func(yield func(ref ModuleRef, as string) bool) {
	return func(yield func(ModuleRef, string) bool) {
		for _, one := range []struct {
			ref *ModuleRef
			as  string
		}{{r.Now, "runs"}, {r.Next, "next"}, {r.Strategy, "strategy"}} {
			if one.ref != nil && !yield(*one.ref, one.as) {
				return
			}
		}
		for _, ref := range slices.Backward(r.Past) {
			if !yield(ref, "before") {
				return
			}
		}
	}
}
