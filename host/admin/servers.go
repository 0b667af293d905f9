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
	all, err := r.op.Servers(r.Context())
	return serversDocument{Version: 1, Servers: orEmpty(all)}, err
}

type drainBody struct {
	Reason string `json:"reason"`
}

func drainServer(r *request, b *drainBody) (setDocument, error) {
	set, unread, err := r.op.Drain(r.Context(), r.PathValue("address"), b.Reason)
	return setDocument{Version: 1, Jobs: orEmpty(set), Unread: orEmpty(unread)}, err
}

func undrainServer(r *request, _ *nothing) (setDocument, error) {
	set, unread, err := r.op.Undrain(r.Context(), r.PathValue("address"))
	return setDocument{Version: 1, Jobs: orEmpty(set), Unread: orEmpty(unread)}, err
}

// switchServer disables or enables the servers at an address for all jobs.
func switchServer(disabled bool) action {
	return calls(func(r *request, _ *nothing) (setDocument, error) {
		set, unread, err := r.op.SetServers(r.Context(), r.PathValue("address"), disabled)
		return setDocument{Version: 1, Jobs: set, Unread: orEmpty(unread)}, err
	})
}
