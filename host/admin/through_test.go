package admin

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wasmjob/wasmjob/host/operator"
)

// The audit shows which server has forwarded a deletion, since the caller's name is only that server's claim.
func TestAuditNamesTheServerThatAsks(t *testing.T) {
	t.Parallel()
	all, as := stocked(t)
	if _, err := as(operator.RolePublisher).PruneModules(t.Context(), operator.Prune{}); err != nil {
		t.Fatal(err)
	}
	rows, err := all[0].op.Audit(t.Context(), operator.AuditFilter{Verb: "module prune"})
	if err != nil || len(rows) != len(all) {
		t.Fatalf("%+v, %v", rows, err)
	}
	for _, r := range rows {
		if byServer := r.Way == operator.ByServer; byServer != strings.HasPrefix(r.Detail, "through="+all[0].at+" removed=1 ") || !byServer && r.Way != operator.ByToken {
			t.Errorf("%+v", r)
		}
	}
}

// The log shows that server, too, for done and for refused requests.
func TestLogNamesTheServerThatAsks(t *testing.T) {
	t.Parallel()
	all := rings(t, 2)
	for role, want := range map[operator.Role]string{operator.RolePublisher: "request is done", operator.RoleAdmin: "request is refused"} {
		var text bytes.Buffer
		h, _ := guarded(Options{Servers: all[0], Log: jsonLog(&text)})
		answerTo(t, h, signedRequest(t, "POST "+modulesPath+":prune", all[1], all[0], operator.Caller{Name: "ann", Role: role}))
		for _, part := range []string{want, `"caller":"ann"`, `"role":"` + string(role) + `"`, `"through":"` + all[1].own.Address + `"`} {
			if !strings.Contains(text.String(), part) {
				t.Errorf("%s is not in %s", part, text.String())
			}
		}
	}
}

// A server that uses up the rate of a name affects neither other servers nor the caller with that name.
func TestServersHaveRatesOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := rings(t, 3)
		h, _ := guarded(Options{Servers: all[0]})
		ask := func(from *ring) int {
			return answerTo(t, h, signedRequest(t, "GET "+historyPath, from, all[0], operator.Caller{Name: "a viewer", Role: operator.RoleViewer})).Code
		}
		for i := range callerBurst {
			if code := ask(all[1]); code != http.StatusOK {
				t.Fatalf("request %d is answered %d", i, code)
			}
		}
		if code := ask(all[1]); code != http.StatusTooManyRequests {
			t.Errorf("one more is answered %d", code)
		}
		if code := ask(all[2]); code != http.StatusOK {
			t.Errorf("another server is answered %d", code)
		}
		if code := sent(t, h, http.MethodGet, jobsPath, "10.0.0.9:1", "Authorization: Bearer viewer").Code; code == http.StatusTooManyRequests {
			t.Errorf("the caller is answered %d", code)
		}
	})
}

// The same holds for streams: a caller's own streams leave room for those that a server requests in its name.
func TestServersHaveStreamsOfTheirOwn(t *testing.T) {
	t.Parallel()
	all := rings(t, 2)
	h, _ := guarded(Options{Servers: all[0]})
	ann := operator.Caller{Name: "ann", Role: operator.RoleViewer}
	for range maxStreamsEach {
		h.streams.begin(ann.Name)
	}
	if w := answerTo(t, h, signedRequest(t, "GET "+runsPath+"report/0/1/logs/follow", all[1], all[0], ann)); w.Code == http.StatusServiceUnavailable {
		t.Errorf("it is answered %d %s", w.Code, w.Body)
	}
}
