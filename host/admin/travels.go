package admin

import (
	"net/http"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

// travelling are the requests that a server sends on to the others, for a caller who may send them. Each
// server answers for what it alone knows or has, and answers no other request to a server. A request
// names the role with the fewest rights that may send it. So a server that was taken over gets no
// more than this from the others. Nothing writes the map.
var travelling = map[string]bool{
	http.MethodGet + " " + historyPath:                          true,
	http.MethodGet + " " + jobsPath + "/{job}/runs":             true,
	http.MethodGet + " " + runsPath + runParts:                  true,
	http.MethodGet + " " + runsPath + runParts + "/logs":        true,
	http.MethodGet + " " + runsPath + runParts + "/logs/follow": true,
	http.MethodGet + " " + eventsPath:                           true,
	http.MethodGet + " " + doctorPath:                           true,
	http.MethodGet + " " + modulesPath:                          true,
	http.MethodPost + " " + modulesPath + ":prune":              true,
	http.MethodPost + " " + purgePath:                           true,
}

// travels reports whether servers send a request of the route on to each other.
func (r *route) travels() bool { return travelling[r.method+" "+r.path] }

// mayTravel refuses what a server asks for that does not travel, or with another role than it takes.
func (r *route) mayTravel(as operator.Role) error {
	switch {
	case !r.travels():
		return &host.Error{Code: host.Denied, Msg: "a server does not answer this to another one; ask it with a token"}
	case as != r.role():
		return &host.Error{Code: host.Denied, Msg: "a server asks for this as " + string(r.role()) + ", whatever the caller's role is"}
	}
	return nil
}

// askedAs is who another server is told that asks: a caller who has the right, with no more rights
// than that takes.
func askedAs(caller operator.Caller, do operator.Right) operator.Caller {
	if !caller.Role.May(do) {
		do = operator.View
	}
	return operator.Caller{Name: caller.Name, Role: roleFor(do)}
}
