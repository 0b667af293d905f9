package admin

import (
	"net/http"

	"github.com/wasmjob/wasmjob/host/operator"
)

const (
	healthPath  = "/healthz"
	readyPath   = "/readyz"
	metricsPath = "/metrics"
)

// Check is one thing that a server needs for its work.
type Check struct {
	Name  string
	Fault string // why it is missing; "": it is there
}

type healthDocument struct {
	Status string `json:"status"`
}

// isOpen reports whether a path is answered without a token.
func isOpen(path string) bool { return path == healthPath || path == readyPath }

// health answers whether the process works. A lost registry is no fault: a restart would not
// bring it back.
func health(r *request) (healthDocument, error) {
	if r.h.o.Alive != nil {
		if err := r.h.o.Alive(r.Context()); err != nil {
			p := refuse(http.StatusServiceUnavailable, codeStuck, "the process is stuck and has to be restarted")
			if r.caller.Role.May(operator.View) {
				p.Errors = []fault{{Message: err.Error()}}
			}
			return healthDocument{}, p
		}
	}
	return healthDocument{"ok"}, nil
}

// ready answers whether the server can do its work, and to callers with a token what it
// lacks.
func ready(r *request) (healthDocument, error) {
	p := refuse(http.StatusServiceUnavailable, codeNotReady, "the server is not ready")
	failed := false
	for _, c := range r.h.o.Checks() {
		if c.Fault == "" {
			continue
		}
		failed = true
		if r.caller.Role.May(operator.View) {
			p.Errors = append(p.Errors, fault{Message: c.Name + ": " + c.Fault})
		}
	}
	if failed {
		return healthDocument{}, p
	}
	return healthDocument{"ok"}, nil
}

// metricsAction answers with metrics in the format of Prometheus.
func metricsAction() action {
	return action{givesType: "text/plain", status: http.StatusOK, do: func(r *request) error {
		r.h.o.Metrics.ServeHTTP(r.w, r.Request)
		return nil
	}}
}
