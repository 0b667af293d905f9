package admin

import "github.com/wasmjob/wasmjob/host/operator"

const serversPath = "/api/v1/servers"

type serversDocument struct {
	Version int                     `json:"version"`
	Servers []operator.ServerReport `json:"servers"`
}

// setDocument lists the jobs for which a request was written.
type setDocument struct {
	Version int      `json:"version"`
	Jobs    []string `json:"jobs"`
	Unread  []string `json:"unreadable_jobs"` // jobs that were not changed
}

func listServers(r *request) (serversDocument, error) {
	jobs, err := r.op.Jobs(r.Context())
	return serversDocument{Version: 1, Servers: orEmpty(operator.ServersOf(jobs))}, err
}

// switchServer disables or enables the servers at an address for all jobs.
func switchServer(disabled bool) action {
	return calls(func(r *request, _ *nothing) (setDocument, error) {
		set, unread, err := r.op.SetServers(r.Context(), r.PathValue("address"), disabled)
		return setDocument{Version: 1, Jobs: set, Unread: orEmpty(unread)}, err
	})
}
