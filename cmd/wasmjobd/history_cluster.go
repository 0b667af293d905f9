package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
)

// registryPatience bounds the wait for the registry where it only adds to what histories have.
const registryPatience = 3 * time.Second

// elsewhere describes rows and servers of a cluster that are in none of the given histories.
type elsewhere struct {
	rows   []foundRow // rows that only the registry has
	others []otherServer
	named  int  // number of their histories that are read; it is not known which
	known  bool // the registry has the requested job
}

// otherServer is a server with a history of its own.
type otherServer struct {
	Server string `json:"server"`
	State  string `json:"state"`
}

// elsewhere reads from the registry which rows and servers of the cluster are in none of the given
// histories; name is a job, or "" for all. If the registry cannot be read, it notes that and returns
// nothing, since the histories can be shown without it.
func (h *historyVerb) elsewhere(ctx context.Context, f *config.File, name string) elsewhere {
	return h.elsewhereAnd(ctx, f, name, func(context.Context, *operator.Operator) error { return nil })
}

// inForce returns jobs of the configuration with the settings that are in force, as far as the
// registry can be read, and what elsewhere returns. In an embedded registry the configuration always
// wins.
func (h *historyVerb) inForce(ctx context.Context, f *config.File, name string, as host.Options) ([]job.Config, elsewhere) {
	if f.Registry.Kind != config.ZooKeeper {
		return as.Jobs, elsewhere{}
	}
	jobs, read, why := as.Jobs, false, error(nil) // why a job cannot be read
	e := h.elsewhereAnd(ctx, f, name, func(ctx context.Context, op *operator.Operator) error {
		read = true
		jobs, why = op.InForce(ctx, as)
		return nil
	})
	if why != nil {
		text, _, _ := strings.Cut(why.Error(), "\n")
		h.term.note("cannot read in the registry what it has of a job: %s", text)
	}
	if !read || why != nil {
		h.term.note("without the registry, the check goes by the file, and by the defaults of keys that it does not name")
	}
	return jobs, e
}

// elsewhereAnd is elsewhere, and calls also with the registry if it can be read.
func (h *historyVerb) elsewhereAnd(ctx context.Context, f *config.File, name string, also func(context.Context, *operator.Operator) error) elsewhere {
	if f.Registry.Kind != config.ZooKeeper {
		return elsewhere{}
	}
	o := operatorVerb{term: h.term, readOnly: true}
	ctx, cancel := context.WithTimeout(ctx, registryPatience)
	defer cancel()
	var rows []operator.KeptRow
	var reports []operator.JobReport
	err := o.withOperator(ctx, f, func(op *operator.Operator) (err error) {
		if rows, reports, err = op.Kept(ctx, name); err != nil {
			return err
		}
		return also(ctx, op)
	})
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		h.term.note("cannot read in the registry what other servers ran: %s", text)
		return elsewhere{}
	}
	e := elsewhere{known: name != "" && len(reports) > 0, named: len(h.with)}
	for i := range rows {
		e.rows = append(e.rows, foundRow{rows[i].Row, "registry", rows[i].By.IP()})
	}
	own, _, _ := serverIP(f) // "" if there is none: then all servers are others
	e.others = othersThan(own, reports)
	if f.History.Address != "" || len(h.with) >= len(e.others) { // all servers share one history, or all were named
		e.others = nil
	}
	return e
}

// othersThan returns the servers that jobs know, except the one whose history is read, which is at the
// address own. If several servers of ours run there, own is among the others, since only one of their
// histories is read.
func othersThan(own string, reports []operator.JobReport) []otherServer {
	var others []otherServer
	for _, s := range operator.ServersOf(reports) {
		if s.IP != own || severalAt(own, reports) {
			others = append(others, otherServer{s.IP, serverState(s)})
		}
	}
	return others
}

// severalAt reports whether several servers of ours run at an address: a job has one member for each.
func severalAt(ip string, reports []operator.JobReport) bool {
	return slices.ContainsFunc(reports, func(r operator.JobReport) bool {
		here := 0
		for _, m := range r.Members {
			if m.ID.IP() == ip && !m.Foreign {
				here++
			}
		}
		return here > 1
	})
}

// names lists the other servers, with their states unless they are up.
func (e *elsewhere) names() string {
	var names []string
	for _, o := range e.others {
		name := o.Server
		if o.State != "up" {
			name += " (" + o.State + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// report prints the servers whose histories are missing. what says what that means for what was shown.
func (e *elsewhere) report(term *terminal, what string) {
	if len(e.others) == 0 {
		return
	}
	if e.named > 0 {
		what += ", apart from " + count(e.named, "file") + " of --with"
	}
	term.note("%s: %s; --with FILE adds history.db of their data_dir", what, e.names())
}

// onlyInRegistry is what a list of rows means for servers whose histories are missing.
const onlyInRegistry = "for these servers only the rows in the registry are shown"
