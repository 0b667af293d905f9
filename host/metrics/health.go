package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// Check is one thing that a server needs to do its work.
type Check struct {
	Name  string `json:"check"`
	Fault string `json:"fault,omitempty"` // why it is not there; "": it is
}

// Checks returns what a server needs to do its work: that its jobs have begun, a session of
// the registry, a history that takes rows, that the modules of the start were compiled, and
// that it does not end.
func (m *Metrics) Checks() []Check {
	h := m.host.Load()
	if h == nil {
		return []Check{{"started", "the server starts"}}
	}
	g := h.Gauges()
	check := func(name string, bad bool, format string, args ...any) Check {
		c := Check{Name: name}
		if bad {
			c.Fault = fmt.Sprintf(format, args...)
		}
		return c
	}
	err := h.Healthy()
	return []Check{
		check("started", !g.Started, "the server starts"),
		check("registry", err != nil, "%v", err),
		check("history", g.Unwritable > 0, "%d jobs cannot store their rows, %d rows wait", g.Unwritable, g.Unstored),
		check("modules", g.Loading > 0, "%d jobs wait for the compilation of their module", g.Loading),
		check("draining", g.Draining, "the server ends"),
	}
}

// Ready answers 200 if no check fails, else 503 with those that fail. With ?verbose it lists
// all of them.
func (m *Metrics) Ready() http.Handler {
	return onlyGet(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		verbose, ok := onlyVerbose(w, r)
		if !ok {
			return
		}
		status, shown := http.StatusOK, []Check{}
		for _, c := range m.Checks() {
			if c.Fault != "" {
				status = http.StatusServiceUnavailable
			}
			if verbose || c.Fault != "" {
				shown = append(shown, c)
			}
		}
		answer(w, status, struct {
			Ready  bool    `json:"ready"`
			Checks []Check `json:"checks"`
		}{status == http.StatusOK, shown})
	}))
}

// Alive returns why the process is stuck and has to be restarted; nil: it is not. While
// the server starts, nobody can tell.
func (m *Metrics) Alive(ctx context.Context) error {
	if h := m.host.Load(); h != nil {
		return h.Alive(ctx)
	}
	return nil
}

// Health answers 503 if the process is stuck and has to be restarted, else 200. It is 200
// also while the registry or the history is away: a restart brings neither back.
func (m *Metrics) Health() http.Handler {
	return onlyGet(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := onlyVerbose(w, r); !ok {
			return
		}
		of := struct {
			Alive bool   `json:"alive"`
			Fault string `json:"fault,omitempty"`
		}{Alive: true}
		status := http.StatusOK
		if err := m.Alive(r.Context()); err != nil {
			status, of.Alive, of.Fault = http.StatusServiceUnavailable, false, err.Error()
		}
		answer(w, status, of)
	}))
}

func onlyVerbose(w http.ResponseWriter, r *http.Request) (verbose, ok bool) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	for name := range query {
		if name != "verbose" {
			err = fmt.Errorf("the parameter %.40q is not known; there is only verbose", name)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false, false
	}
	return query.Has("verbose"), true
}

func onlyGet(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD are possible here", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		h.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the caller has gone
}
