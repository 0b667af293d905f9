package admin

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Doctor by address uses the options of the server.
func TestDoctorByAddress(t *testing.T) {
	t.Parallel()
	s := start(t, "report", "mail")
	asked := Options{Operate: s.operate, Authenticate: known, Doctor: func() (host.Options, error) {
		return host.Options{Jobs: []job.Config{{Name: "new", Shards: 1}}}, nil
	}}
	address := "http://" + serveTCP(t, TLS{}, NewHandler(asked))
	c := at(t, address, "admin")
	d, err := c.Doctor(t.Context(), host.Options{})
	if err != nil || len(d.Jobs) != 3 || d.Jobs[1].Job != "new" || !d.Jobs[1].Named || d.Jobs[2].Named || !d.Jobs[2].Ours || len(d.Jobs[2].Members) != 1 || d.Jobs[2].Members[0].Kind != operator.Ours {
		t.Fatalf("%+v, %v", d, err)
	}
	if notes := reason.Words(d.Jobs[1].Notes, ""); notes == "" {
		t.Error("nothing is said of a job that is not there yet")
	}
	if d, err = c.Doctor(t.Context(), host.Options{}, "mail", "report"); err != nil || len(d.Jobs) != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	_, err = c.Doctor(t.Context(), host.Options{}, "other")
	wantCode(t, "a job that is not there", err, host.NotFound, `no job "other"`)
	_, err = c.Doctor(t.Context(), host.Options{}, strings.Repeat("x/", 3))
	wantCode(t, "no name", err, host.NotFound, "cannot be the name of a job")
	_, err = at(t, address, "viewer").Doctor(t.Context(), host.Options{})
	wantCode(t, "a viewer", err, host.Denied, "role viewer")
}

// Doctor asks all servers, each of which uses its own options, and names silent servers.
func TestDoctorOfAllServers(t *testing.T) {
	t.Parallel()
	all, as := stocked(t)
	all[1].disk.jobs = []job.Config{{Name: "of the second", Shards: 1}}
	_, err := as(operator.RolePublisher).Doctor(t.Context(), host.Options{})
	wantCode(t, "a publisher", err, host.Denied, "does not allow this")
	c := as(operator.RoleAdmin)
	d, err := c.Doctor(t.Context(), host.Options{})
	if err != nil || len(d.Jobs) != 1 || len(d.Others) != 1 || d.Others[0].Server != all[1].at || !answering(d.Unread) {
		t.Fatalf("%+v, %v", d, err)
	}
	if jobs := d.Others[0].Jobs; len(jobs) != 1 || jobs[0].Job != "of the second" || !jobs[0].Named {
		t.Errorf("%+v", jobs)
	}
	all[1].stop()
	if d, err = c.Doctor(t.Context(), host.Options{}); err != nil || len(d.Jobs) != 1 || len(d.Others) != 0 || answering(d.Unread) {
		t.Errorf("%+v, %v", d, err)
	}
}
