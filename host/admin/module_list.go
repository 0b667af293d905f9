package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

func listModulesRoute() route {
	return route{
		method: http.MethodGet, path: modulesPath, right: operator.View, does: shows(listModules), fails: []string{codeNotFound},
		says: "answers as `module list`, with a page of modules by digest, each with the first 100 jobs that use it and the number of all. " +
			`What nothing uses has "uses" 0. "bytes_here" and "here_since" are of the disk of this server`,
		query: pageParameters("modules"),
	}
}

// modulesDocument is a page of modules.
type modulesDocument struct {
	Version int                      `json:"version"`
	Modules []operator.ModuleVersion `json:"modules"`
	Unread  []string                 `json:"unreadable_jobs"` // it is not known what they use
	Next    string                   `json:"next,omitempty"`
}

func listModules(r *request) (modulesDocument, error) {
	d := modulesDocument{Version: 1}
	limit, err := r.limit()
	if err != nil {
		return d, err
	}
	list, err := r.op.Modules(r.Context(), r.h.o.Held)
	if err != nil {
		return d, err
	}
	after := r.query.Get("cursor")
	all := slices.DeleteFunc(list.Modules, func(m operator.ModuleVersion) bool { return m.Digest <= after })
	if len(all) > limit {
		all = all[:limit]
		d.Next = all[limit-1].Digest
		r.linkNext(d.Next)
	}
	d.Modules, d.Unread = orEmpty(all), orEmpty(list.Unread)
	return d, nil
}

// Modules is operator.Operator.Modules on the server, which knows itself what it has.
func (c *Client) Modules(ctx context.Context, _ operator.Held) (operator.ModuleList, error) {
	var list operator.ModuleList
	for cursor := ""; ; {
		var page modulesDocument
		query := url.Values{"limit": {strconv.Itoa(maxPage)}, "cursor": {cursor}}
		if err := c.read(ctx, http.MethodGet, modulesPath+"?"+query.Encode(), nil, &page); err != nil {
			return operator.ModuleList{}, err
		}
		list.Modules, list.Unread = append(list.Modules, page.Modules...), page.Unread
		switch {
		case page.Next == "":
			return list, nil
		case page.Next <= cursor: // the same pages would come again
			return operator.ModuleList{}, &host.Error{Code: host.Internal, Msg: fmt.Sprintf("the server's list of modules does not go on behind %.256q", cursor)}
		}
		cursor = page.Next
	}
}

func pruneRoute() route {
	return route{
		method: http.MethodPost, path: modulesPath + ":prune", right: operator.Publish, fails: []string{codeInvalid, codeRefused, codeNotFound},
		does:   action{takes: reflect.TypeFor[nothing](), gives: reflect.TypeFor[operator.PruneReport](), status: http.StatusOK, reports: true, do: pruneModules},
		says:   `does what ` + "`module prune`" + ` does on the disk of this server; with "dry_run" the answer tells what would be removed`,
		served: func(o *Options) bool { return o.Prune != nil },
	}
}

func pruneModules(r *request) error {
	if err := r.readBody(new(nothing)); err != nil {
		return err
	}
	p := *r.h.o.Prune
	p.DryRun = r.dry()
	report, err := r.op.PruneModules(r.Context(), p)
	if err != nil {
		return err
	}
	return r.answer(report)
}

// PruneModules is operator.Operator.PruneModules on the server, on its own disk.
func (c *Client) PruneModules(ctx context.Context, p operator.Prune) (report operator.PruneReport, err error) {
	query := url.Values{dryName: {strconv.FormatBool(p.DryRun)}}
	err = c.read(ctx, http.MethodPost, modulesPath+":prune?"+query.Encode(), nil, &report)
	return report, err
}
