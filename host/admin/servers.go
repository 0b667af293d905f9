package admin

import (
	"strings"

	"github.com/wasmjob/wasmjob/host/operator"
)

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

// listServers answers as `server list`.
func listServers(r *request) error {
	jobs, err := r.op.Jobs(r.Context())
	if err != nil {
		return err
	}
	return r.answer(serversDocument{Version: 1, Servers: orEmpty(operator.ServersOf(jobs))})
}

// switches are the verbs that disable or enable a server or an item.
var switches = map[string]bool{"disable": true, "enable": false}

// cutVerb splits the last part of a path at its last colon. The verb follows the colon.
func cutVerb(called string) (what, verb string) {
	i := strings.LastIndex(called, ":")
	if i < 0 {
		return called, ""
	}
	return called[:i], called[i+1:]
}

// callServer disables or enables the servers at an address for all jobs: the call is
// `disable` or `enable`.
func callServer(r *request) error {
	ip, verb := cutVerb(r.PathValue("call"))
	disabled, ok := switches[verb]
	if !ok {
		return noRoute(r.Request)
	}
	if err := r.readBody(nil); err != nil {
		return err
	}
	set, unread, err := r.op.SetServers(r.Context(), ip, disabled)
	if err != nil {
		return err
	}
	return r.answer(setDocument{Version: 1, Jobs: set, Unread: orEmpty(unread)})
}
