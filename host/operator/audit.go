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

// Author is who writes through an Operator, for the audit.
type Author struct {
	Name    string `json:"who"`               // of a token, or a user
	Way     Way    `json:"way"`               // how they came in
	Role    Role   `json:"role,omitempty"`    // of their token
	Request string `json:"request,omitempty"` // id of the request, as the log has it
	// Through is the address of the server that asks for them, ByServer. A row has it in its detail.
	Through string `json:"-"`
}

// Way is how an author reaches the cluster.
type Way string

const (
	ByToken    Way = "token"    // at the address of a server
	BySession  Way = "session"  // of a browser, at the address of a server
	ByServer   Way = "server"   // through another server, which they have asked
	BySocket   Way = "socket"   // at the socket of a server, as its user
	ByRegistry Way = "registry" // with the password of the registry, if it has one
)

// As says who writes through the Operator from now on. Without it the audit knows nobody.
func (o *Operator) As(a Author) { o.author = a }

// deed is what the audit says of a write.
type deed struct {
	verb, job, detail, before, after string
	// unaudited: it has no row, because it changes nothing for others, and anybody with a
	// token could push all rows out by it.
	unaudited bool
}

// commit applies a transaction together with its row of the audit, so that neither is
// there without the other.
func (o *Operator) commit(ctx context.Context, d deed, ops ...registry.Op) error {
	if o.dry {
		o.onlyIf = nil
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
	o.onlyIf = nil // the job has changed by this
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

// makeTree creates the nodes above all that belongs to the cluster.
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

// deniedTree says what to do where the root of the cluster cannot be made or written.
func (o *Operator) deniedTree(ctx context.Context, err error) error {
	root := o.tree.Root()
	if n, unread := o.session.Read(ctx, root); unread == nil && !n.Exists {
		return failf(host.Denied, err, "nothing was changed, since the audit cannot be written: this user of the registry may not create %s. Let a user who may write to %s create it once, in zkCli.sh with "+
			"addauth digest USER:PASSWORD for each of the two users, then create %s \"\" auth::cdrwa. Without a digest write world:anyone:cdrwa", root, path.Dir(root), root)
	}
	return failf(host.Denied, err, "nothing was changed, since the audit cannot be written: let this user of the registry create and write what is below %s, in zkCli.sh with "+
		"addauth digest USER:PASSWORD as its owner and as this user, then setAcl -R %s auth::cdrwa", root, root)
}

// trimEvery is how many rows are added between two looks for rows that may go.
const trimEvery = 50

// trimAudit deletes the oldest rows, if there are too many, after so and so many were
// added. The write is done, and what fails here the next look makes up for.
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

// auditRows are the names of the rows below a node, the oldest first.
func auditRows(dir registry.Node) []string {
	names := slices.DeleteFunc(slices.Clone(dir.Children), func(name string) bool {
		_, ok := clustertree.RowNumber(name)
		return !ok
	})
	slices.Sort(names) // all have as many digits
	return names
}
