package operator

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Author is the caller in whose name an Operator writes, for the audit.
type Author struct {
	Name    string `json:"who"`               // of a token, or a user
	Way     Way    `json:"way"`               // to the cluster
	Role    Role   `json:"role,omitempty"`    // of the token
	Request string `json:"request,omitempty"` // id of the request, as in the log
	// Through is the address of the server that forwards the request, if Way is ByServer. A row has it
	// in its detail.
	Through string `json:"-"`
}

// Way is how an author reaches the cluster.
type Way string

const (
	ByToken    Way = "token"    // at the address of a server
	BySession  Way = "session"  // of a browser, at the address of a server
	ByServer   Way = "server"   // forwarded by another server
	BySocket   Way = "socket"   // at the socket of a server, as its user
	ByRegistry Way = "registry" // with the password of the registry, if it has one
)

// As sets the author of all further writes. Without it, audit rows have no author.
func (o *Operator) As(a Author) { o.author = a }

// deed describes a write for the audit.
type deed struct {
	verb, job, detail, before, after string
	// unaudited: it gets no row. A sign-in, for example, changes nothing for others, and with rows for
	// it any caller could displace all other rows.
	unaudited bool
}

// commit applies a transaction and its audit row atomically. A dry run only notes the deed. Without ops it
// only writes the row.
func (o *Operator) commit(ctx context.Context, d deed, ops ...registry.Op) error {
	if o.dry {
		o.onlyIf = nil // as after a write
		o.deeds = append(o.deeds, Deed{Verb: d.verb, Job: d.job, Detail: d.detail, Before: d.before, After: d.after})
		return nil
	}
	if err := o.makeTree(ctx); err != nil {
		return err
	}
	if d.unaudited {
		_, err := o.session.Commit(ctx, ops...)
		return err
	}
	if o.author.Through != "" { // first, as a long detail is cut off
		d.detail = strings.TrimSpace("through=" + o.author.Through + " " + d.detail)
	}
	row := clustertree.Row{
		Who: o.author.Name, Way: string(o.author.Way), Role: string(o.author.Role), Request: o.author.Request,
		Verb: d.verb, Job: d.job, Detail: d.detail, Before: d.before, After: d.after,
	}
	receipt, err := o.session.Commit(ctx, append(slices.Clip(ops), o.tree.AuditRow(row))...)
	if err != nil {
		return err
	}
	o.onlyIf = nil // this write has changed the job
	// The last operation has created the row, which the registry has numbered.
	o.trimAudit(ctx, path.Base(receipt.Results[len(ops)].Path))
	return nil
}

// Note adds a row to the audit for a change that is not made by a transaction of the
// registry, such as an upload. Call it right after the change.
func (o *Operator) Note(ctx context.Context, verb, detail string) error {
	if err := o.commit(ctx, deed{verb: verb, detail: detail}); err != nil {
		return failf(host.CodeOf(err), err, "%s is done, and has no row in the audit", verb)
	}
	return nil
}

// makeTree creates the parent nodes of the cluster's state.
func (o *Operator) makeTree(ctx context.Context) error {
	if o.treeMade || o.dry {
		return nil
	}
	err := session.CreateMissing(ctx, o.session, o.tree.Parents())
	switch {
	case errors.Is(err, registry.ErrDenied):
		return o.deniedTree(ctx, err)
	case err != nil:
		return readError(err, "make %s, where the audit is", o.tree.Root())
	}
	o.treeMade = true
	return nil
}

// deniedTree is the error if this user of the registry cannot create or write the root of the
// cluster's state. It says what to do.
func (o *Operator) deniedTree(ctx context.Context, err error) error {
	root := o.tree.Root()
	if n, unread := o.session.Read(ctx, root); unread == nil && !n.Exists {
		return failf(host.Denied, err, "nothing was changed, since the audit cannot be written: this user of the registry may not create %s. Let a user who may write to %s create it once, in zkCli.sh with "+
			"addauth digest USER:PASSWORD for each of the two users, then create %s \"\" auth::cdrwa. Without a digest write world:anyone:cdrwa", root, path.Dir(root), root)
	}
	return failf(host.Denied, err, "nothing was changed, since the audit cannot be written: let this user of the registry create and write what is below %s, in zkCli.sh with "+
		"addauth digest USER:PASSWORD as its owner and as this user, then setAcl -R %s auth::cdrwa", root, root)
}

// trimEvery is the number of added rows between two trims of the audit.
const trimEvery = 50

// trimAudit deletes the oldest rows beyond the limit if the number of the added row is a multiple of
// trimEvery. It ignores errors: the write itself is done, and the next trim tries again.
func (o *Operator) trimAudit(ctx context.Context, added string) {
	n, ok := clustertree.RowNumber(added)
	if !ok || n%trimEvery != 0 {
		return
	}
	dir, err := o.session.Read(ctx, o.tree.Audit())
	if err != nil {
		return
	}
	names := auditRows(dir)
	for len(names) > clustertree.MaxRows {
		_, err := o.session.Commit(ctx, registry.Op{Kind: registry.Delete, Path: o.tree.Row(names[0]), Version: registry.AnyVersion})
		if err != nil && !errors.Is(err, registry.ErrConflict) { // others may trim at the same time
			return
		}
		names = names[1:]
	}
}

// auditRows returns the names of the rows below a node, the oldest first.
func auditRows(dir registry.Node) []string {
	names := slices.DeleteFunc(slices.Clone(dir.Children), func(name string) bool {
		_, ok := clustertree.RowNumber(name)
		return !ok
	})
	slices.Sort(names) // all have the same number of digits
	return names
}
