package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
)

// serverCommand has the verbs about servers.
func serverCommand(term *terminal) *cobra.Command {
	c := &cobra.Command{Use: "server", Short: "Manage servers: list, enable, disable, drain"}
	return operatorNoun(term, c,
		listVerb("Show the servers known to the jobs of the namespace",
			"For each address: its jobs, items and runs, and for how many jobs it is disabled. A server is\n"+
				"down, draining (it starts nothing, and something is still running), drained, disabled (for all its\n"+
				"jobs), leaving (it only completes runs of jobs that were shut down there) or up.",
			cluster.Servers, serversOf, printServers),
		// The last argument says whether the verb disables.
		serverSwitch("enable", "enabled", "Give a server items again; for a drained server use undrain", false),
		serverSwitch("disable", "disabled", "Take the items of all jobs away from a server", true),
		serverDrain, serverUndrain)
}

// serverSwitch returns a verb that disables a server for every job that knows it, or else enables it. done
// is what was requested, for the output.
func serverSwitch(name, done, short string, disabled bool) func(*operatorVerb) *cobra.Command {
	return func(o *operatorVerb) *cobra.Command {
		return &cobra.Command{
			Use: name + " ADDRESS", Short: short, Args: cobra.ExactArgs(1),
			RunE: func(c *cobra.Command, args []string) error {
				return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
					jobs, unread, err := op.SetServers(ctx, args[0], disabled)
					return o.switched(args[0], done, jobs, unread, err)
				})
			},
		}
	}
}

// switched reports for which jobs a request about a server was written, and which jobs could not be read.
// It returns err, the error of the request.
func (o *operatorVerb) switched(ip, done string, jobs, unread []string, err error) error {
	for _, name := range unread {
		o.term.note("wasmjobd: job %s cannot be read, and was not changed", plain(name))
	}
	if err != nil {
		return err
	}
	asked := askedOf{Version: 1, Jobs: append([]string{}, jobs...), Asked: "server " + ip + " " + done}
	return o.term.answer(asked, "%s: %s for %s\n", plain(ip), done, count(len(jobs), "job"))
}

// ipOf returns the address of a server. server is that address, or the id of an instance there.
func ipOf(server string) string {
	if ip := job.InstanceID(server).IP(); ip != "" {
		return ip
	}
	return server
}

func serverDrain(o *operatorVerb) *cobra.Command {
	var reason string
	var wait bool
	c := &cobra.Command{
		Use: "drain ADDRESS|ID", Short: "Make a server begin no runs, for example before maintenance", Args: cobra.ExactArgs(1),
		Long: "The servers at the address are disabled for all jobs, including future ones. Running items\n" +
			"complete, and then the items move. The server stays reachable, and /readyz fails and says why. The\n" +
			"drain lasts until undrain, and survives restarts. An instance id stands for its address. With\n" +
			"--wait the verb returns when nothing runs there; Ctrl-C ends the waiting, not the drain. A server\n" +
			"that is drained again without --reason keeps its reason.",
		Example: `  wasmjobd server drain 10.0.0.7 --reason "a new disk" --wait`,
	}
	c.Flags().StringVar(&reason, "reason", "", "reason, for the people who see it")
	c.Flags().BoolVar(&wait, "wait", false, "return when nothing runs there, after --timeout at the latest (then 24h by default)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if wait && !c.Flags().Changed("timeout") {
			o.timeout = followPatience
		}
		ip := ipOf(args[0])
		return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
			jobs, unread, err := op.Drain(ctx, ip, reason)
			if err == nil && wait {
				err = awaitDrained(ctx, op, ip)
			}
			return o.switched(ip, "drained", jobs, unread, err)
		})
	}
	return c
}

// idleLooks is how many successive looks must find nothing running before a server that still has items
// counts as drained.
const idleLooks = 10

// awaitDrained waits until nothing runs on the servers at an address and nothing can begin
// there: they have no items, or none began for a while. If no other server can have the items,
// they stay.
func awaitDrained(ctx context.Context, op cluster, ip string) error {
	again := time.NewTicker(followPause)
	defer again.Stop()
	for idle := 0; ; {
		all, err := op.Servers(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		k := slices.IndexFunc(all, func(s operator.ServerReport) bool { return s.IP == ip })
		switch {
		case err != nil: // ctx has ended
		case k < 0 || all[k].Running == 0 && all[k].Items == 0: // k < 0: no job knows the server
			return nil
		case all[k].Running > 0:
			idle = 0
		default:
			if idle++; idle == idleLooks {
				return nil
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return &host.Error{Code: host.Unavailable, Msg: fmt.Sprintf("server %s is drained, but something is still running there", ip), Err: context.Cause(ctx)}
		}
	}
}

func serverUndrain(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "undrain ADDRESS|ID", Short: "End the drain of a server", Args: cobra.ExactArgs(1),
		Long: "The server gets items again, except for jobs for which it was disabled before the\n" +
			"drain or during it.",
		RunE: func(c *cobra.Command, args []string) error {
			ip := ipOf(args[0])
			return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
				jobs, unread, err := op.Undrain(ctx, ip)
				return o.switched(ip, "undrained", jobs, unread, err)
			})
		},
	}
}

// reportDrain records for readiness checks whether the server is drained, and logs a change. d is the
// drain; nil if there is none.
func (r *reloader) reportDrain(d *operator.Drain) {
	before := r.drained.Load()
	switch {
	case d == nil && before != nil:
		r.drained.Store(nil)
		r.log.Info("this server is no longer drained")
	case d != nil && before == nil:
		r.log.Warn("an operator drains this server: it starts nothing", "by", d.By, "since", d.Since, "why", d.Why)
	}
	if d != nil {
		text := "drained since " + stamp(millis(d.Since), time.UTC)
		if d.By != "" {
			text += " by " + d.By
		}
		if d.Why != "" {
			text += ": " + d.Why
		}
		r.drained.Store(&text)
	}
}

type listedServers struct {
	Version int            `json:"version"`
	Servers []listedServer `json:"servers"`
}

type listedServer struct {
	Server   string `json:"server"`
	State    string `json:"state"`
	Jobs     int    `json:"jobs"`
	Disabled int    `json:"disabled_jobs"`
	Leads    int    `json:"leads"`
	Items    int    `json:"items"`
	Running  int    `json:"running"`
	Drain    *drain `json:"drain,omitempty"`
}

// drain is an operator's drain of a server.
type drain struct {
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Since   string `json:"since"`
	SinceMs int64  `json:"since_unix_ms"`
}

func serversOf(servers []operator.ServerReport) listedServers {
	out := listedServers{Version: 1, Servers: []listedServer{}}
	for _, s := range servers {
		one := listedServer{Server: s.IP, State: serverState(s), Jobs: s.Members, Disabled: s.Disabled, Leads: s.Leads, Items: s.Items, Running: s.Running}
		if s.Drain != nil {
			one.Drain = drainOf(s.Drain)
		}
		out.Servers = append(out.Servers, one)
	}
	return out
}

// drainOf returns the JSON of a drain.
func drainOf(d *operator.Drain) *drain {
	return &drain{By: d.By, Reason: d.Why, Since: stamp(millis(d.Since), time.UTC), SinceMs: millis(d.Since)}
}

// drainedServer is a server that starts nothing of a job because it is drained.
type drainedServer struct {
	Server string `json:"server"`
	drain
	Code string `json:"reason_code"`
}

// words describes a drain for a person, with its time in a zone.
func (d *drainedServer) words(zone *time.Location) string {
	text := d.Server
	if d.By != "" {
		text += " by " + d.By
	}
	text += " since " + stamp(d.SinceMs, zone)
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}

// serverState returns the state of a server in one word, the first that applies. A server has one member
// for each job that runs on it.
func serverState(s operator.ServerReport) string {
	switch {
	case s.Members == 0 && s.Running > 0:
		return "leaving"
	case s.Members == 0:
		return "down"
	case s.Drain != nil && s.Running > 0:
		return "draining"
	case s.Drain != nil:
		return "drained"
	case s.Disabled >= s.Members:
		return "disabled"
	}
	return "up"
}

func printServers(term *terminal, all []operator.ServerReport) error {
	w := table(term, "SERVER\tSTATE\tJOBS\tDISABLED\tLEADS\tITEMS\tRUNNING")
	for _, s := range all {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\n", plain(s.IP), serverState(s), s.Members, s.Disabled, s.Leads, s.Items, s.Running)
	}
	return flush(w)
}
