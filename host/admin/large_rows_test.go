package admin

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/trace"
)

// largeRows returns three servers. The first has some rows, and each of the others so many with large results that an
// answer with all of them would be too large. Of item 0 the newest run has failed.
func largeRows(t *testing.T) (s *server, all []*peerServer, count int) {
	t.Helper()
	const rows, bytes = 300, 1 << 20
	s = start(t, "report")
	large := strings.Repeat("x", 2*bytes/rows)
	for i, ip := range []string{"127.0.0.1", "10.0.0.2", "10.0.0.3"} {
		one := startPeer(t, s.registry, ip, TLS{})
		one.h.mostBytes = bytes
		for k := range rows {
			at := int64(60_000 * (1 + (rows-1-k)/100)) // three runs
			r := trace.Row{Job: "report", Item: 3*(rows-1-k) + i, Run: strconv.FormatInt(at, 10), Attempt: 1, Instant: at, Cause: trace.Schedule, State: trace.Succeeded, End: at + 1}
			if i > 0 {
				r.Result = large
			}
			if r.Item == 0 || i == 2 && k == rows/3-1 { // the last row of the newest run
				r.Item, r.State = 0, trace.Failed
			}
			one.rows = append(one.rows, r)
		}
		all = append(all, one)
	}
	return s, all, 3 * rows
}

// Rows with large results are listed page by page, each once, checked, and known to a retry.
func TestRowsWithLargeResults(t *testing.T) {
	t.Parallel()
	s, all, count := largeRows(t)
	token := all[0].token(t, "ann", operator.RoleOperator, 0)
	acquaint(t, token, all...)
	<-s.host.Ready()
	c := all[0].client(t, token, "")
	var found []trace.Place
	want := RunsWanted{Job: "report", Limit: maxPage}
	for {
		page, err := c.Runs(t.Context(), want)
		if err != nil || len(page.Unread) > 0 {
			t.Fatalf("after %d rows: %q, %v", len(found), page.Unread, err)
		}
		for i := range page.Rows {
			found = append(found, trace.PlaceOf(&page.Rows[i]))
		}
		if want.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	descends := slices.IsSortedFunc(found, func(a, b trace.Place) int { return b.Compare(a) })
	if !descends || len(slices.Compact(slices.Clone(found))) != count || len(found) != count {
		t.Errorf("%d rows are listed, of %d; in order: %v", len(found), count, descends)
	}
	checked, unread, err := c.CheckHistory(t.Context(), CheckWanted{Job: "report"})
	if err != nil || len(checked) != 1 || checked[0].Rows != int64(count*2/3) || !answering(unread) {
		t.Errorf("checked %+v, %q, %v", checked, unread, err)
	}
	wantRetried(t, s, c, strconv.Itoa(3*60_000))
}

// A server that has the same row for ever ends no list, and keeps no request busy.
func TestRowsOfAServerThatDoesNotAdvance(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	one, two := startPeer(t, s.registry, "127.0.0.1", TLS{}), startPeer(t, s.registry, "10.0.0.2", TLS{})
	for i := range maxPage + 5 {
		one.rows = append(one.rows, rowAt(int64(9_000_000-i), 0, 1, trace.Succeeded, ""))
	}
	two.strays = []trace.Row{rowAt(9_900_000, 0, 1, trace.Succeeded, "")}
	token := one.token(t, "ann", operator.RoleOperator, 0)
	acquaint(t, token, one, two)
	<-s.host.Ready()
	c := one.client(t, token, "")
	found := 0
	for want := (RunsWanted{Job: "report", Limit: maxPage}); ; {
		page, err := c.Runs(t.Context(), want)
		if found += len(page.Rows); err != nil || found > 2*maxPage {
			t.Fatalf("%d rows, %v", found, err)
		}
		if want.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	if found != maxPage+6 {
		t.Errorf("%d rows", found)
	}
}
