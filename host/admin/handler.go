package admin

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
)

// Options of a Handler.
type Options struct {
	// Operate opens an Operator for one request, which closes it.
	Operate func(context.Context) (*operator.Operator, error)
	// Receive stores a module where the jobs of the server find it; nil: uploads are refused.
	Receive func(io.Reader) (*host.ReceivedModule, error)
	// Admit refuses uploads by their signature, before their bytes are sent; nil: none. digest is "" if
	// it is not known yet.
	Admit func(digest string, s host.Signing) error
	// ModuleKeys may sign uploads, see host.Signing.
	ModuleKeys []string
	// Push says how an upload with a report is examined, and which servers get it, too;
	// nil: there are no such uploads.
	Push *operator.Push
	// Held lists the modules on the disk of the server; nil: it is not known.
	Held operator.Held
	// Prune says how modules that nothing uses leave the disk of the server; nil: they stay.
	Prune *operator.Prune
	// Runs reads the history of the server; nil: the server has none.
	Runs Runs
	// SharedRuns: Runs has the rows of all servers, as from a common database.
	SharedRuns bool
	// Check compares that history, and the rows that others have, with the schedules of the
	// server's files, with the settings in force; nil others: there are none. Purge deletes rows of it, and returns
	// their number, also if it ends early; nil: it cannot.
	Check func(ctx context.Context, want CheckWanted, inForce InForce, others RowsElsewhere) ([]Checked, error)
	Purge func(context.Context, Purge) (rows int64, err error)
	// RetryModule is operator.RetryModule for the server's data directory; nil: it has none.
	RetryModule func(prefix string, dry bool) (digest string, err error)
	// Logs are those of the runs of the server; nil: it has none.
	Logs *operator.RunLogs
	// Reload makes the server read its files again; nil: it cannot.
	Reload Reload
	// Define parses a job that an operator has written; nil: jobs are only in files.
	Define func(operator.JobText) (job.Config, error)
	// Doctor returns the server's options for operator.Operator.Doctor; nil: there is no
	// doctor.
	Doctor func() (host.Options, error)
	// Nodes allows requests to read nodes of the registry, including the state of
	// guests. Set it only for a listener that no other user can reach.
	Nodes bool
	// Authenticate identifies the sender of a request by its token; nil: all who can reach
	// the listener may send all requests.
	Authenticate Authenticate
	// Sessions are the sessions of browsers, which sign in with a token; nil: there are none.
	Sessions Sessions
	// Servers has the servers of the cluster, which ask each other for what only one of them
	// knows; nil: only this one is asked.
	Servers Servers
	// Alive returns why the process has to be restarted; nil: it is not checked.
	Alive func(context.Context) error
	// Checks returns what the server needs for its work; nil: there are no checks.
	Checks func() []Check
	// Events are the events that callers can follow; nil: there are none.
	Events *Events
	// Metrics answers with the server's metrics; nil: it has none.
	Metrics http.Handler
	// Log receives each request that writes; nil discards.
	Log *slog.Logger
}

// Handler answers requests for /api/v1. It can be mounted on any listener; the
// owner of the listener decides who can reach it.
type Handler struct {
	o   Options
	mux *http.ServeMux
	// document returns the OpenAPI document of all routes.
	document func() []byte

	crossSite             *http.CrossOriginProtection
	callers               *rates        // requests of callers
	servers               *rates        // forwarded requests, by server and caller
	nameless              *rates        // requests of addresses without a token, or with one that cannot be checked
	failures              *rates        // wrong tokens of addresses
	signIns               *rates        // of the bearers of tokens
	nonces                nonces        // of requests from other servers
	uploads               chan struct{} // a slot for each upload in progress
	mostRows              int           // limit of rows that a check gets from other servers at once
	mostBytes             int64         // limit of another server's answer
	checkTime, doctorTime time.Duration // for asking other servers

	// streams counts the streams of callers, and relayed those that other servers request. relayedFor counts
	// the latter again, only by the names of their callers, since a caller may connect to every server.
	streams, relayed, relayedFor streams
}

// request is one request while it is served.
type request struct {
	*http.Request
	h      *Handler
	op     *operator.Operator
	w      http.ResponseWriter
	caller visitor
	query  url.Values // checked against the route
}

// NewHandler creates a Handler with all routes.
func NewHandler(o Options) *Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	all := routes()
	h := &Handler{
		o: o, mux: http.NewServeMux(), document: sync.OnceValue(func() []byte { return openAPI(all) }), crossSite: http.NewCrossOriginProtection(),
		callers: newRates(callerBurst, callerPerSecond), servers: newRates(callerBurst, callerPerSecond), nameless: newRates(callerBurst, callerPerSecond), failures: newRates(failureBurst, failurePerSecond), signIns: newRates(failureBurst, failurePerSecond),
		streams:    streams{most: maxStreams, each: maxStreamsEach, of: map[string]int{}, refusal: "the server sends at most %d streams, %d of them to one caller; try again"},
		relayed:    streams{most: maxRelayed, each: maxStreamsEach, of: map[string]int{}, refusal: "the server sends at most %d streams to others, %d of them to one server for one caller; try again"},
		relayedFor: streams{most: maxRelayed, each: maxRelayed / 2, of: map[string]int{}, refusal: "the server sends at most %d streams to others, %d of them for one caller; try again"},
		nonces:     nonces{until: map[string]time.Time{}},
		uploads:    make(chan struct{}, uploadsAtOnce), mostRows: maxElsewhere, mostBytes: maxOther, checkTime: checkTime, doctorTime: doctorTime,
	}
	// A pattern of the mux cannot end with a verb, so routes that differ only in the verb have one pattern together.
	called := map[string]verbs{}     // by the pattern
	methods := map[string][]string{} // of routes without a verb, by the path
	for _, one := range all {
		if one.served != nil && !one.served(&o) {
			continue
		}
		path, verb := one.base()
		pattern := one.method + " " + path
		if verb == "" {
			methods[path] = append(methods[path], one.method)
			h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, &one) })
			continue
		}
		if called[pattern] == nil {
			called[pattern] = verbs{}
		}
		called[pattern][verb] = &one
	}
	for pattern, of := range called {
		_, path, _ := strings.Cut(pattern, " ")
		h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { h.call(w, r, of, methods[path]) })
	}
	return h
}

// verbs are the routes of a path that differ only in their verbs.
type verbs map[string]*route

// call answers a request by the verb after the last colon of its path. without has the
// methods of the same path without a verb.
func (h *Handler) call(w http.ResponseWriter, r *http.Request, of verbs, without []string) {
	var one *route
	for _, one = range of { // any of them, since they have the same path
		break
	}
	names := one.pathNames()
	last := names[len(names)-1]
	what, verb := cutVerb(r.PathValue(last))
	switch one, ok := of[verb]; {
	case ok:
		r.SetPathValue(last, what)
		h.serve(w, r, one)
	case verb == "" && len(without) > 0:
		allow := allowed(without)
		w.Header().Set("Allow", allow)
		h.fail(w, r, refuse(http.StatusMethodNotAllowed, codeMethod, "say what to do with it, as in "+r.URL.EscapedPath()+":"+slices.Min(slices.Collect(maps.Keys(of)))))
	default:
		h.fail(w, r, noRoute(r))
	}
}

// cutVerb splits the last part of a path at its last colon. The verb follows the colon.
func cutVerb(called string) (what, verb string) {
	i := strings.LastIndex(called, ":")
	if i < 0 {
		return called, ""
	}
	return called[:i], called[i+1:]
}

// allowed is the header Allow for some methods. The mux answers HEAD wherever it answers GET.
func allowed(methods []string) string {
	all := slices.Clone(methods)
	if slices.Contains(all, http.MethodGet) {
		all = append(all, http.MethodHead)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// ServeHTTP implements http.Handler. It admits the caller, and passes the request to its route. Where the mux would
// redirect or answer with text, it answers with a problem.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	caller, err := h.admit(r)
	if err != nil {
		if _, cookied, _ := cookieOf(r); cookied && r.Method == http.MethodDelete && r.URL.Path == sessionPath {
			setCookie(w, r, "", time.Time{}) // deletes the cookie of an ended session
		}
		h.fail(w, r, err)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), visitorKey{}, caller))
	at := r.URL.EscapedPath()
	if at == "" || path.Clean(at) != at { // the mux would redirect, and a client that follows may write twice
		h.fail(w, r, noRoute(r))
		return
	}
	if answer, pattern := h.mux.Handler(r); pattern == "" { // no route has this path with this method
		of := headers{}
		answer.ServeHTTP(of, r)
		if allow := of.Header().Get("Allow"); allow != "" {
			w.Header().Set("Allow", allow)
			h.fail(w, r, refuse(http.StatusMethodNotAllowed, codeMethod, fmt.Sprintf("%.16q is not allowed here; write one of %s", r.Method, allow)))
			return
		}
		h.fail(w, r, noRoute(r))
		return
	}
	h.mux.ServeHTTP(w, r)
}

// headers is a ResponseWriter that keeps only the headers.
type headers http.Header

// Header, Write and WriteHeader implement http.ResponseWriter.
func (h headers) Header() http.Header { return http.Header(h) }

// Write drops the text.
func (h headers) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader drops the status.
func (h headers) WriteHeader(int) {}

// noRoute is the problem of a path that no route has.
func noRoute(r *http.Request) *problem {
	return refuse(http.StatusNotFound, codeNoRoute, fmt.Sprintf("there is nothing at %.256q", r.URL.Path))
}

// serve answers one request of a route, by one call of an Operator. ServeHTTP has admitted the caller.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, one *route) {
	caller, _ := r.Context().Value(visitorKey{}).(visitor)
	if !isOpen(one.path) {
		if err := caller.Allow(one.right); err != nil {
			h.fail(w, r, err)
			return
		}
	}
	if caller.way == operator.ByServer {
		if err := one.mayTravel(caller.Role); err != nil {
			h.fail(w, r, err)
			return
		}
	}
	query, err := readQuery(r, one.queried())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	var op *operator.Operator
	if !one.alone {
		if op, err = h.o.Operate(r.Context()); err != nil {
			h.fail(w, r, err)
			return
		}
		defer func() {
			if err := op.Close(); err != nil {
				h.o.Log.Warn("the session of a request was not closed", "error", err)
			}
		}()
	}
	id := requestID(w)
	if op != nil {
		op.As(operator.Author{Name: caller.Name, Way: caller.way, Role: caller.Role, Request: id, Through: caller.through.Address})
	}
	asked := &request{r, h, op, w, caller, query}
	if one.writes() {
		err = asked.onlyIfMatch(one.ofJob())
	}
	if err == nil {
		err = asked.try(&one.does)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if one.writes() && !asked.dry() {
		h.o.Log.Info("an operator's request is done", append(caller.logged(), "route", one.method+" "+one.path, "path", operator.HideTokens(r.URL.Path), "request_id", id)...)
	}
}

// fail answers a request with a problem, and logs it.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	p, id := problemOf(err), requestID(w)
	level := slog.LevelInfo
	switch {
	case p.Status == http.StatusInternalServerError:
		level = slog.LevelError
	case p.Status == http.StatusTooManyRequests, p.Code == codeNotReady:
		level = slog.LevelDebug // neither too many requests nor probes must fill the log
	}
	caller, _ := r.Context().Value(visitorKey{}).(visitor)
	h.o.Log.Log(r.Context(), level, "an operator's request is refused", append(caller.logged(), "method", r.Method, "path", operator.HideTokens(r.URL.Path), "code", p.Code, "error", operator.HideTokens(err.Error()), "request_id", id)...)
	p.write(w, id)
}

// note writes the audit row of a change that is made already. It does not end with the
// request, since an upload may exceed its time, and a client may disconnect.
func (r *request) note(verb, detail string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), noteTimeout)
	defer cancel()
	return r.op.Note(ctx, verb, detail)
}

// jobName returns the name of the job in the path.
func (r *request) jobName() (string, error) { return checkName(r.PathValue("job")) }

// checkName refuses names that no job can have, and names that would name another node.
func checkName(name string) (string, error) {
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") || strings.ContainsFunc(name, unicode.IsControl) {
		return "", &host.Error{Code: host.NotFound, Msg: fmt.Sprintf("there is no job %.300q: that cannot be the name of a job", name)}
	}
	return name, nil
}

// answer sends the result of the request.
func (r *request) answer(v any) error {
	writeJSON(r.w, http.StatusOK, jsonType, v)
	return nil
}

// done answers that a request for a job was written, or fails with err. The job itself
// shows when its members have acted on it.
func (r *request) done(name string, err error) error {
	if err != nil {
		return err
	}
	r.w.Header().Set("Location", jobPath(name))
	r.w.WriteHeader(http.StatusAccepted)
	return nil
}
