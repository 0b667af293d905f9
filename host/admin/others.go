package admin

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/trace"
)

// maxOther is the limit of another server's answer, in bytes.
const maxOther = 8 << 20

// asking forwards requests of a caller to another server, each signed and on its own connection.
type asking struct {
	by     Servers
	to     operator.Server
	caller operator.Caller
}

// RoundTrip implements http.RoundTripper. Over TLS the two servers check each other's keys of the registry.
func (a asking) RoundTrip(r *http.Request) (*http.Response, error) {
	own, err := a.by.Own()
	if err != nil {
		return nil, err
	}
	var config *tls.Config
	if r.URL.Scheme == "https" {
		if config, err = identityTo(own, a.to); err != nil {
			return nil, err
		}
	}
	signed := r.Clone(r.Context())
	if err := sign(signed, own, a.to, a.by.Time(), a.caller); err != nil {
		return nil, err
	}
	t := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: headTimeout}).DialContext,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    headTimeout,
		ResponseHeaderTimeout:  workTimeout,
		MaxResponseHeaderBytes: maxHead,
		DisableCompression:     true, // a small answer could become a large one
		DisableKeepAlives:      true,
	}
	return t.RoundTrip(signed) //nolint:wrapcheck // implements the round trip
}

// CloseIdleConnections implements transport. There are none.
func (a asking) CloseIdleConnections() {}

// others is listed, and its unread also has the servers that only a job knows, or any job if name is empty.
func (r *request) others(ctx context.Context, name string, do operator.Right) (clients map[string]*Client, unread []string) {
	clients, unread = r.listed(do)
	return clients, append(unread, r.unlisted(ctx, name)...)
}

// listed returns clients of the other servers in the registry, by address. They ask in the name of the caller,
// with no other right than do. unread has the servers whose addresses cannot be used.
func (r *request) listed(do operator.Right) (clients map[string]*Client, unread []string) {
	all, err := r.h.o.Servers.Others()
	if err != nil { // what this server has is better than nothing
		return nil, []string{"the other servers (" + err.Error() + ")"}
	}
	clients = map[string]*Client{}
	for _, s := range all {
		c, err := r.clientOf(s, do)
		if err != nil {
			unread = append(unread, s.Address+" ("+err.Error()+")")
			continue
		}
		clients[c.base] = c
	}
	return clients, unread
}

// clientOf returns a client of another server. It asks in the name of the caller, with no other right than do.
func (r *request) clientOf(to operator.Server, do operator.Right) (*Client, error) {
	u, err := serverURL(to.Address)
	if err != nil {
		return nil, err
	}
	at := u.Scheme + "://" + u.Host
	return &Client{path: at, base: at, most: r.h.mostBytes, transport: asking{r.h.o.Servers, to, askedAs(r.caller.Caller, do)}}, nil
}

// unlisted returns the servers that only a job knows, or any job if name is empty.
func (r *request) unlisted(ctx context.Context, name string) []string {
	listed, err := r.h.o.Servers.Others()
	if err != nil {
		return nil // listed has reported the same error
	}
	if own, err := r.h.o.Servers.Own(); err == nil {
		listed = append([]operator.Server{own.Server}, listed...)
	}
	unread, err := r.op.Unlisted(ctx, name, listed)
	if err != nil {
		return []string{"servers that only jobs know (" + err.Error() + ")"}
	}
	return unread
}

// asksOthers reports whether other servers are asked for the answer, too. Another server gets
// only what this one knows itself, so that no request goes in circles.
func (r *request) asksOthers() bool { return r.h.o.Servers != nil && r.caller.way != operator.ByServer }

// logs returns the logs of all servers or, if another server asks, of this one.
func (r *request) logs() *operator.RunLogs {
	if r.h.o.Servers == nil {
		return r.h.o.Logs
	}
	all := r.h.o.Logs.Here()
	if !r.asksOthers() {
		return all
	}
	all.Others = func(ctx context.Context, name string) (map[string]operator.LogReader, []string) {
		clients, unread := r.others(ctx, name, operator.View)
		others := map[string]operator.LogReader{}
		for address, c := range clients {
			others[address] = c
		}
		return others, unread
	}
	return all
}

// rows returns a page of the rows of all servers, the newest first, or of this one if another server asks or this one
// has the rows of all.
func (r *request) rows(ctx context.Context, want RunsWanted) (RunsPage, error) {
	rows, next, err := r.h.o.Runs(ctx, want)
	if err != nil || !r.asksOthers() || r.h.o.SharedRuns {
		return RunsPage{Rows: rows, Next: next}, err
	}
	clients, unread := r.others(ctx, want.Job, operator.View)
	var mu sync.Mutex // guards rows, more and end
	more := false
	var end trace.Place // of the pages that have a next one, the newest last row: of older rows some may be missing
	add := func(page RunsPage) {
		if n := len(page.Rows); page.Next != "" && n > 0 {
			if last := trace.PlaceOf(&page.Rows[n-1]); !more || last.Compare(end) > 0 {
				more, end = true, last
			}
		}
	}
	add(RunsPage{Rows: rows, Next: next})
	limit := want.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	beyond := false // there are more than limit rows
	after, noCursor := trace.ParsePlace(want.Cursor)
	unanswered := operator.AskAll(ctx, clients, func(ctx context.Context, _ string, c *Client) error {
		page, _, err := c.fittingRuns(ctx, want)
		if err != nil {
			return err
		}
		if noCursor == nil { // a server that does not advance would be asked for ever
			page.Rows = slices.DeleteFunc(page.Rows, func(r trace.Row) bool { return trace.PlaceOf(&r).Compare(after) >= 0 })
		}
		mu.Lock()
		defer mu.Unlock()
		add(page)
		// Two servers may have the same row, which counts once.
		rows = trace.Newest(append(rows, page.Rows...), func(r *trace.Row) *trace.Row { return r })
		if len(rows) > limit {
			beyond, rows = true, rows[:limit]
		}
		return nil
	})
	if more {
		rows = slices.DeleteFunc(rows, func(r trace.Row) bool { return trace.PlaceOf(&r).Compare(end) < 0 })
	}
	page := RunsPage{Rows: rows, Unread: append(unanswered, unread...)}
	if (more || beyond) && len(rows) > 0 {
		page.Next = trace.PlaceOf(&rows[len(rows)-1]).String() // a cursor for every server
	}
	return page, nil
}

// recallAll makes the Operator read the histories of all servers, and not only that of this server. If another server
// asks, that one history stays.
func (r *request) recallAll() {
	if r.h.o.Runs == nil || !r.asksOthers() {
		return
	}
	r.op.Recall(func(ctx context.Context, name string, item *int, upTo time.Time) ([]trace.Row, []string, error) {
		rows, unread, next, err := r.rowsUpTo(ctx, RunsWanted{Job: name, Item: item, Until: upTo.UnixMilli() + 1, Limit: maxPage}, maxPage)
		if err != nil || next == "" || item != nil {
			return rows, unread, err
		}
		// The other rows of the oldest instant, so that of no run some items are missing.
		oldest := rows[len(rows)-1].Instant
		rest, also, _, err := r.rowsUpTo(ctx, RunsWanted{Job: name, Since: oldest, Until: oldest + 1, Limit: maxPage, Cursor: next}, job.MaxShards)
		for _, server := range also {
			if !slices.Contains(unread, server) {
				unread = append(unread, server)
			}
		}
		return append(rows, rest...), unread, err
	})
}

// rowsUpTo returns pages of rows until there are most rows, with the cursor of what comes after them. They are without
// the texts of guests, which need much memory.
func (r *request) rowsUpTo(ctx context.Context, want RunsWanted, most int) (rows []trace.Row, unread []string, next string, err error) {
	for {
		page, err := r.rows(ctx, want)
		if err != nil {
			return nil, nil, "", err
		}
		for i := range page.Rows {
			dropTexts(&page.Rows[i])
		}
		rows = append(rows, page.Rows...)
		for _, server := range page.Unread {
			if !slices.Contains(unread, server) {
				unread = append(unread, server)
			}
		}
		if page.Next == "" || len(rows) >= most {
			return rows, unread, page.Next, nil
		}
		want.Cursor = page.Next
	}
}
