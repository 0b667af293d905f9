package admin

import (
	"net/http"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

// travelling are the routes that a server forwards to the others, for a caller who may use them. To
// another server, each server answers only these, with what it alone knows or has. A forwarded request
// names the role with the fewest rights that the route allows. So a compromised server gets no more than
// this from the others. Read only.
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

// travels reports whether servers forward requests of the route to each other.
func (r *route) travels() bool { return travelling[r.method+" "+r.path] }

// mayTravel refuses a forwarded request if its route does not travel, or if it names another role than the
// one that the route needs.
func (r *route) mayTravel(as operator.Role) error {
	switch {
	case !r.travels():
		return &host.Error{Code: host.Denied, Msg: "a server does not answer this to another one; ask it with a token"}
	case as != r.role():
		return &host.Error{Code: host.Denied, Msg: "a server asks for this as " + string(r.role()) + ", whatever the caller's role is"}
	}
	return nil
}

// askedAs is the caller in a forwarded request: with the role that has the fewest rights for do or, if
// the caller does not have that right, for View.
func askedAs(caller operator.Caller, do operator.Right) operator.Caller {
	if !caller.Role.May(do) {
		do = operator.View
	}
	return operator.Caller{Name: caller.Name, Role: roleFor(do)}
}
