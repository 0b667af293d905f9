package admin

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/operator"
)

// route is one request that the API answers. The table of routes is the one place
// that knows them: the handler, docs/API.md and docs/openapi.json are made from it.
type route struct {
	method string
	// path is a path of net/http. What follows a last "{name}:" is a verb; the value
	// of name may have colons, too.
	path  string
	right operator.Right // what a caller needs
	says  string         // for people
	// query has the parameters; all others are refused.
	query []parameter
	// header has the headers that only this route reads.
	header []parameter
	// fails has the codes of problems of this route, in addition to those that any
	// route of its kind may have.
	fails []string
	does  action
	// served reports whether the options have what the route needs; nil: always.
	served   func(*Options) bool
	alone    bool // it is answered without an Operator
	untagged bool // it changes nothing of the job in its path, so no tag of the job can be its condition
}

// parameter is a parameter of a query, or a header.
type parameter struct {
	name, says string
	takes      schema   // nil: any string
	oneOf      []string // allowed texts; nil: see takes
	many       bool     // it may come several times
	required   bool
}

// writes reports whether a request of the route may change something.
func (r *route) writes() bool { return r.method != http.MethodGet }

// ofJob reports whether the route is about what a tag of the job in its path covers.
func (r *route) ofJob() bool { return strings.HasPrefix(r.path, jobsPath+"/{job}") && !r.untagged }

// role returns the role with the fewest rights that may send a request of the route.
func (r *route) role() operator.Role { return roleFor(r.right) }

// roleFor returns the role with the fewest rights that has this one.
func roleFor(do operator.Right) operator.Role {
	all := operator.Roles()
	return all[slices.IndexFunc(all, func(one operator.Role) bool { return one.May(do) })]
}

// base returns the path without its verb, and the verb.
func (r *route) base() (path, verb string) {
	if i := strings.LastIndex(r.path, "}:"); i >= 0 {
		return r.path[:i+1], r.path[i+2:]
	}
	return r.path, ""
}

// pathNames returns the names of the parameters in the path.
func (r *route) pathNames() []string {
	var names []string
	for part := range strings.SplitSeq(r.path, "{") {
		if name, _, ok := strings.Cut(part, "}"); ok {
			names = append(names, name)
		}
	}
	return names
}

// action is what a route does, with the types of what it takes and answers.
type action struct {
	takes     reflect.Type // has the members of the body as fields; nil: no body is read
	takesType string       // the media type of the body; "": JSON, or none
	gives     reflect.Type // of the JSON document that it answers; nil: none
	givesType string       // the media type of the answer if it is no document
	status    int
	tagged    bool // the answer has an ETag
	// reports: do answers dry runs by itself.
	reports bool
	do      func(*request) error
}

// nothing is a body without members.
type nothing struct{}

// shows is the action of a route that only reads: it answers with the document that do returns.
func shows[A any](do func(*request) (A, error)) action {
	return action{gives: reflect.TypeFor[A](), status: http.StatusOK, do: func(r *request) error {
		d, err := do(r)
		if err != nil {
			return err
		}
		return r.answer(d)
	}}
}

// showsTagged is shows with an ETag. A later write may depend on the tag, and a client that has the document
// already gets only the status.
func showsTagged[A any](do func(*request) (A, error)) action {
	return action{gives: reflect.TypeFor[A](), status: http.StatusOK, tagged: true, do: func(r *request) error {
		d, err := do(r)
		if err != nil {
			return err
		}
		has, err := r.unchanged(d)
		if err == nil && has {
			r.w.WriteHeader(http.StatusNotModified)
		}
		if err != nil || has {
			return err
		}
		return r.answer(d)
	}}
}

// calls is the action of a route that takes a body: it answers with the document that do returns.
func calls[B, A any](do func(*request, *B) (A, error)) action {
	return action{takes: reflect.TypeFor[B](), gives: reflect.TypeFor[A](), status: http.StatusOK, do: func(r *request) error {
		var body B
		if err := r.readBody(&body); err != nil {
			return err
		}
		d, err := do(r, &body)
		if err != nil {
			return err
		}
		return r.answer(d)
	}}
}

// does is calls without a document in the answer.
func does[B any](do func(*request, *B) error) action {
	return action{takes: reflect.TypeFor[B](), status: http.StatusNoContent, do: func(r *request) error {
		var body B
		if err := r.readBody(&body); err != nil {
			return err
		}
		if err := do(r, &body); err != nil {
			return err
		}
		r.w.WriteHeader(http.StatusNoContent)
		return nil
	}}
}

// callsJob is calls for the job in the path.
func callsJob[B, A any](do func(r *request, name string, body *B) (A, error)) action {
	return calls(func(r *request, body *B) (d A, err error) {
		name, err := r.jobName()
		if err != nil {
			return d, err
		}
		return do(r, name, body)
	})
}

// onJob is does for the job in the path, for a request on which the job's members act later. So its status is
// Accepted.
func onJob[B any](do func(r *request, name string, body *B) error) action {
	return action{takes: reflect.TypeFor[B](), status: http.StatusAccepted, do: func(r *request) error {
		name, err := r.jobName()
		if err != nil {
			return err
		}
		var body B
		if err := r.readBody(&body); err != nil {
			return err
		}
		return r.done(name, do(r, name, &body))
	}}
}

// codes returns the codes of the problems with which the route may answer, sorted.
func (r *route) codes() []string {
	all := append([]string{codeBadRequest, codeBusy, codeDenied, codeCrossSite, codeUnavailable, codeInternal, codeUnauthenticated, codeTooMany, codeWrongHost}, r.fails...)
	if r.writes() {
		all = append(all, codeUnknown, codeCSRF, codeOutdated)
	}
	if r.does.takes != nil || r.does.takesType != "" {
		all = append(all, codeTooLarge, codeMediaType, codeTimeout)
	}
	if len(r.pathNames()) > 0 {
		all = append(all, codeNoRoute, codeNotFound)
	}
	if r.served != nil { // a server may not have it, or only other methods of its path
		all = append(all, codeNoRoute, codeMethod)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
