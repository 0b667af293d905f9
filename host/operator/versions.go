package operator

import (
	"context"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/registry"
)

// NamedModule is a module that has a name. A name and version always mean the same bytes, until
// an operator takes the name away.
type NamedModule struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Digest  string    `json:"digest"`
	At      time.Time `json:"at"`
	By      string    `json:"by,omitempty"`
}

// String returns NAME@VERSION.
func (n NamedModule) String() string { return n.Name + "@" + n.Version }

// IsVersion reports whether a text has the form NAME@VERSION.
func IsVersion(text string) bool { return strings.Contains(text, "@") }

// Named returns the modules that have names, by name and version.
func (o *Operator) Named(ctx context.Context) ([]NamedModule, error) {
	all, err := o.readVersions(ctx, "list the names of modules")
	if err != nil {
		return nil, err
	}
	named := make([]NamedModule, 0, len(all.All))
	for _, v := range all.All {
		named = append(named, namedOf(v))
	}
	return named, nil
}

// namedOf converts a version of the registry.
func namedOf(v clustertree.Version) NamedModule {
	return NamedModule{v.Name, v.Version, v.Digest, time.UnixMilli(v.At).UTC(), v.By}
}

// Resolve returns the digest of a module, written as its digest or as NAME@VERSION.
func (o *Operator) Resolve(ctx context.Context, text string) (digest string, err error) {
	const what = "look for a module"
	if !IsVersion(text) {
		if err := module.CheckDigest(text); err != nil {
			return "", failf(host.Invalid, err, what)
		}
		return text, nil
	}
	name, version, err := splitVersion(text)
	if err != nil {
		return "", failf(host.Invalid, err, what)
	}
	all, err := o.readVersions(ctx, what)
	if err != nil {
		return "", err
	}
	found := all.Find(name, version)
	if found == nil {
		return "", failf(host.NotFound, nil, "%s: there is no module %s; see module list, or bring it with module push --name", what, text)
	}
	return found.Digest, nil
}

// splitVersion splits NAME@VERSION, and refuses what cannot be stored as such.
func splitVersion(text string) (name, version string, err error) {
	name, version, _ = strings.Cut(text, "@")
	return name, version, clustertree.CheckVersion(name, version)
}

// nameable returns an error if NameModule would refuse the name for the digest. It changes
// nothing.
func (o *Operator) nameable(ctx context.Context, text, digest string) error {
	const what = "name a module"
	name, version, err := splitVersion(text)
	if err != nil {
		return failf(host.Invalid, err, what)
	}
	all, err := o.readVersions(ctx, what)
	if err != nil {
		return err
	}
	return fitsVersions(&all, name, version, digest)
}

// fitsVersions refuses a name and version that another module has, or for which there is no room.
func fitsVersions(all *clustertree.Versions, name, version, digest string) error {
	switch found := all.Find(name, version); {
	case found != nil && found.Digest != digest:
		return failf(host.Refused, nil, "name a module: %s has been module %s since %s, which cannot change; use another version", found, found.Digest, time.UnixMilli(found.At).UTC().Format(time.RFC3339))
	case found == nil && len(all.All) >= clustertree.MaxVersions:
		return failf(host.Refused, nil, "name a module: there are %d versions, which is the limit; take some away with module rm", clustertree.MaxVersions)
	}
	return nil
}

// NameModule gives a name to a module that the servers have. A repeated call changes nothing;
// another module under the same name and version is Refused.
func (o *Operator) NameModule(ctx context.Context, text, digest string) error {
	name, version, err := splitVersion(text)
	if err == nil {
		err = module.CheckDigest(digest)
	}
	if err != nil {
		return failf(host.Invalid, err, "name a module")
	}
	d := deed{verb: "module name", detail: "version=" + text, after: digest}
	return o.changeVersions(ctx, "name a module", d, func(all *clustertree.Versions, now time.Time) (changed bool, err error) {
		if err := fitsVersions(all, name, version, digest); err != nil {
			return false, err
		}
		return all.Find(name, version) == nil && all.Add(clustertree.Version{Name: name, Version: version, Digest: digest, At: now.UnixMilli(), By: o.author.Name}), nil
	})
}

// UnnameModule takes a name away. Jobs that run the module keep it.
func (o *Operator) UnnameModule(ctx context.Context, text string) error {
	const what = "take the name of a module away"
	name, version, err := splitVersion(text)
	if err != nil {
		return failf(host.Invalid, err, what)
	}
	d, sent := deed{verb: "module rm", detail: "version=" + text}, false
	return o.changeVersions(ctx, what, d, func(all *clustertree.Versions, _ time.Time) (changed bool, err error) {
		found := all.Remove(name, version)
		if !found && !sent { // after a try without an answer, that try may have removed it
			return false, failf(host.NotFound, nil, "%s: there is no %s", what, text)
		}
		sent = true
		return found, nil
	})
}

// changeVersions changes the node of versions. change reports whether there is something to write; it is called
// again if a try conflicts or has no answer.
func (o *Operator) changeVersions(ctx context.Context, what string, d deed, change func(*clustertree.Versions, time.Time) (bool, error)) error {
	return o.changeState(ctx, what, &d, func(now time.Time) ([]registry.Op, error) {
		all, n, err := readState(ctx, o, what, "versions", o.tree.Versions(), clustertree.DecodeVersions)
		if err != nil {
			return nil, err
		}
		if changed, err := change(&all, now); err != nil || !changed {
			return nil, err
		}
		return []registry.Op{setOrCreate(o.tree.Versions(), n, all.Encode())}, nil
	})
}

// readVersions syncs and reads the versions.
func (o *Operator) readVersions(ctx context.Context, what string) (all clustertree.Versions, err error) {
	if err := o.session.Sync(ctx); err != nil {
		return all, readError(err, "%s", what)
	}
	all, _, err = readState(ctx, o, what, "versions", o.tree.Versions(), clustertree.DecodeVersions)
	return all, err
}
