package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

func listModulesRoute() route {
	return route{
		method: http.MethodGet, path: modulesPath, right: operator.View, does: shows(listModules), fails: []string{codeNotFound},
		says: "answers as `module list`, with a page of modules by digest. Each has the first 100 jobs that use it, and in \"uses\" the number of all uses. " +
			`"bytes_here" and "here_since" are about the disk of this server`,
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

// listModules answers with a page of modules, by digest.
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

// Modules is operator.Operator.Modules on the server, with the modules on its disk.
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
			return operator.ModuleList{}, &host.Error{Code: host.Internal, Msg: fmt.Sprintf("the server's list of modules does not advance beyond %.256q", cursor)}
		}
		cursor = page.Next
	}
}

func pruneRoute() route {
	return route{
		method: http.MethodPost, path: modulesPath + ":prune", right: operator.Publish, fails: []string{codeInvalid, codeRefused, codeNotFound},
		does: action{takes: reflect.TypeFor[pruneBody](), gives: reflect.TypeFor[operator.PruneReport](), status: http.StatusOK, reports: true, do: pruneModules},
		says: `does what ` + "`module prune`" + ` does, on the disks of all servers or with "here" of this one. With "dry_run" the answer shows what would be removed. ` +
			`While a server that can be asked is silent, nothing is removed on any server. "unread" names the servers that remove nothing`,
		served: func(o *Options) bool { return o.Prune != nil },
	}
}

type pruneBody struct {
	Here bool `json:"here"`
}

// pruneModules deletes modules that nothing uses, on the disks of all servers or of this one.
func pruneModules(r *request) error {
	var b pruneBody
	if err := r.readBody(&b); err != nil {
		return err
	}
	p := *r.h.o.Prune
	p.DryRun = r.dry()
	prune := r.pruneAll
	if b.Here || !r.asksOthers() {
		prune = r.op.PruneModules
	}
	report, err := prune(r.Context(), p)
	if err != nil {
		return err
	}
	return r.answer(report)
}

// pruneAll removes modules on all servers that can be asked, or on none while one of them is silent. Servers
// that cannot be asked keep their modules and need not answer, since the registry alone shows what is used.
func (r *request) pruneAll(ctx context.Context, p operator.Prune) (operator.PruneReport, error) {
	clients, unread := r.listed(operator.Publish)
	// First a dry run, which shows whether all of them answer.
	would, silent := prunedBy(ctx, clients, true)
	if silent = append(silent, unread...); len(silent) > 0 && !p.DryRun {
		return operator.PruneReport{}, &host.Error{Code: host.Refused, Msg: fmt.Sprintf("prune modules: nothing was removed, as these servers do not answer: %.1024s; "+
			"ask again when they do, or prune one server after the other with module prune --here", strings.Join(silent, ", "))}
	}
	report, err := r.op.PruneModules(ctx, p)
	if report.Others = would; err == nil && !p.DryRun {
		report.Others, silent = prunedBy(ctx, clients, false)
	}
	report.Unread = append(silent, r.unlisted(ctx, "")...)
	return report, err
}

// prunedBy asks other servers to prune, and returns what each has removed, or would remove.
func prunedBy(ctx context.Context, clients map[string]*Client, dry bool) (all []operator.PrunedElsewhere, unread []string) {
	var mu sync.Mutex                 // guards all
	ask := operator.AskAllTo[*Client] // deleting takes longer
	if dry {
		ask = operator.AskAll
	}
	unread = ask(ctx, clients, func(ctx context.Context, address string, c *Client) error {
		report, err := c.PruneModules(ctx, operator.Prune{DryRun: dry, Here: true})
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			all = append(all, operator.PrunedElsewhere{Server: address, Bytes: report.Bytes, Removed: report.Removed})
		}
		return err
	})
	slices.SortFunc(all, func(a, b operator.PrunedElsewhere) int { return strings.Compare(a.Server, b.Server) })
	return all, unread
}

// PruneModules is operator.Operator.PruneModules on the server, and on the others that it can ask.
func (c *Client) PruneModules(ctx context.Context, p operator.Prune) (report operator.PruneReport, err error) {
	query := url.Values{dryName: {strconv.FormatBool(p.DryRun)}}
	var body any
	if p.Here {
		body = pruneBody{true}
	}
	err = c.read(ctx, http.MethodPost, modulesPath+":prune?"+query.Encode(), body, &report)
	return report, err
}
