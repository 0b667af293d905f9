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

// setDocument tells for which jobs a wish is written.
type setDocument struct {
	Version int      `json:"version"`
	Jobs    []string `json:"jobs"`
	Unread  []string `json:"unreadable_jobs"` // which are left as they are
}

func listServers(r *request) error {
	jobs, err := r.op.Jobs(r.Context())
	if err != nil {
		return err
	}
	return r.answer(serversDocument{Version: 1, Servers: listed(operator.ServersOf(jobs))})
}

// switches are what a server or an item can be asked to be: disabled or not.
var switches = map[string]bool{"disable": true, "enable": false}

// cutVerb takes a path's last part apart: what stands behind its last colon is
// the verb.
func cutVerb(called string) (what, verb string) {
	i := strings.LastIndex(called, ":")
	if i < 0 {
		return called, ""
	}
	return called[:i], called[i+1:]
}

// callServer disables or enables the servers at an address for all jobs.
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
	return r.answer(setDocument{Version: 1, Jobs: set, Unread: listed(unread)})
}
