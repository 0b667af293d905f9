package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
)

// jobCommand has the verbs about jobs.
func jobCommand(term *terminal) *cobra.Command {
	c := &cobra.Command{
		Use: "job", Short: "Manage jobs: list, show, trigger, pause, disable, …",
		Long: "These verbs use the registry of the configuration, through which the servers coordinate, and join\n" +
			"no job: they work on any machine that can reach it. They return when the request is written; the\n" +
			"servers act on it at once. An embedded registry is inside its server: while that runs, the verbs\n" +
			"ask it through a socket in its data_dir, as the same user on the same machine; otherwise they read\n" +
			"and write its files.",
	}
	return operatorNoun(term, c,
		listVerb("Show all jobs of the namespace",
			"For each job: its state, items, servers, leader and findings, how its last run went, and how often\n"+
				"an item has failed in a row. A job is unreadable, down (no server runs it), paused, disabled (on\n"+
				"every server), running, resharding or idle.",
			cluster.Jobs, jobsOf, printJobs),
		jobShow, jobExplain, jobCreate, jobRun, jobTrigger, jobRetry, jobCancel,
		jobPause,
		jobVerb("resume", "End a pause", "resumed", func(op cluster, ctx context.Context, name string) error { return resume(ctx, op, name) }),
		// The last argument says whether the verb disables.
		jobSwitch("enable", "enabled", "Enable a job, one of its items or servers", false),
		jobSwitch("disable", "disabled", "Disable a job, one of its items or servers", true),
		jobVerb("reshard", "Assign the items of a job anew, once no item that would move is running", "asked to assign its items again", cluster.Reshard),
		jobShutdown, jobRemove, jobMigrate, jobDump)
}

// listVerb returns a verb that shows everything of one kind in the namespace: what read returns, as the
// document asJSON or as the table that show prints.
func listVerb[T, R any](short, long string, read func(cluster, context.Context) ([]T, error), asJSON func([]T) R, show func(*terminal, []T) error) func(*operatorVerb) *cobra.Command {
	return func(o *operatorVerb) *cobra.Command {
		return &cobra.Command{
			Use: "list", Short: short, Long: long, Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				return o.ask(c.Context(), func(ctx context.Context, f *config.File, op cluster) error {
					all, err := read(op, ctx)
					if err != nil {
						return err
					}
					if len(all) == 0 {
						o.noJobs(f)
					}
					if o.term.json() {
						return o.term.printJSON(asJSON(all))
					}
					return show(o.term, all)
				})
			},
		}
	}
}

func jobShow(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "show JOB", Short: "Show one job: its servers, its items, and its problems", Args: cobra.ExactArgs(1),
		Long: "Show the owner of each item, where and since when it runs, its newest instant that is accounted\n" +
			"for, and problems. An item is running, pending (it waits for a server after a death), disabled,\n" +
			"unassigned or idle.",
		RunE: func(c *cobra.Command, args []string) error {
			return o.ask(c.Context(), func(ctx context.Context, f *config.File, op cluster) error {
				r, err := op.Job(ctx, args[0])
				if err != nil {
					return withNearest(ctx, op, args[0], err)
				}
				if o.term.json() {
					return o.term.printJSON(shownJob{Version: 1, listedJob: jobOf(r), shownModules: modulesOf(&r.Modules), Members: membersOf(r.Members), Leaving: membersOf(r.Leaving), Items: itemsOf(r)})
				}
				return printJob(o.term, r, zonesOf(f.Jobs)[r.Name])
			})
		},
	}
}

// jobVerb returns a verb that writes the same request for each of the given jobs. asked says what was
// requested, such as "resumed".
func jobVerb(name, short, asked string, do func(cluster, context.Context, string) error) func(*operatorVerb) *cobra.Command {
	return func(o *operatorVerb) *cobra.Command {
		return &cobra.Command{
			Use: name + " JOB...", Short: short, Args: cobra.MinimumNArgs(1),
			RunE: func(c *cobra.Command, args []string) error {
				return o.each(c.Context(), args, asked, func(ctx context.Context, op cluster, name string) error { return do(op, ctx, name) })
			},
		}
	}
}

// resume ends a pause, or what is left of a pause that is over, and says if there was none.
func resume(ctx context.Context, op cluster, name string) error {
	before, unread := op.Job(ctx, name)
	err := op.Resume(ctx, name) // always, since the report may be outdated
	if err == nil && unread == nil && !before.Paused {
		return asBefore("it was not paused")
	}
	return err
}

// jobSwitch returns the verb enable or disable, in the form that operatorNoun takes.
func jobSwitch(name, done, short string, disabled bool) func(*operatorVerb) *cobra.Command {
	return func(o *operatorVerb) *cobra.Command { return o.jobSwitch(name, done, short, disabled) }
}

// jobSwitch returns the verb that disables jobs, or else enables them. done is what was requested, for
// its output.
func (o *operatorVerb) jobSwitch(name, done, short string, disabled bool) *cobra.Command {
	var item int
	var server string
	c := &cobra.Command{
		Use: name + " JOB...", Short: short, Args: cobra.MinimumNArgs(1),
		Long: "A disabled item misses its instants. A disabled server owns no items of the job. Without --item\n" +
			"and --server the verb applies to every server that the job knows. An item or server stays disabled\n" +
			"until job enable, also after restarts. A server that is drained stays as it is until server\n" +
			"undrain; what is enabled for the job during the drain is enabled then.",
	}
	c.Flags().IntVar(&item, "item", 0, "only this item")
	c.Flags().StringVar(&server, "server", "", "only the servers at this `address`")
	c.MarkFlagsMutuallyExclusive("item", "server")
	c.RunE = func(c *cobra.Command, args []string) error {
		what := ""
		do := func(ctx context.Context, op cluster, name string) error { return op.SetJob(ctx, name, disabled) }
		switch {
		case c.Flags().Changed("item"):
			what = "item " + strconv.Itoa(item) + " "
			do = func(ctx context.Context, op cluster, name string) error {
				return op.SetItem(ctx, name, item, disabled)
			}
		case server != "":
			what = "server " + server + " "
			do = func(ctx context.Context, op cluster, name string) error {
				return op.SetServer(ctx, name, server, disabled)
			}
		}
		return o.each(c.Context(), args, what+done, do)
	}
	return c
}

func jobShutdown(o *operatorVerb) *cobra.Command {
	var server, instance string
	var all bool
	c := &cobra.Command{
		Use: "shutdown JOB...", Args: cobra.MinimumNArgs(1),
		Short: "Stop a job on one server or on all, until they restart",
		Long: "The job's running items are asked to stop, and the servers that --server, --instance or --all\n" +
			"names leave the job; their other jobs go on. They run it again after a restart: to prevent that,\n" +
			"see disable. The node of an instance that no server holds any more is removed.",
	}
	c.Flags().StringVar(&server, "server", "", "servers at this `address`")
	c.Flags().StringVar(&instance, "instance", "", "instance with this `id`")
	c.Flags().BoolVar(&all, "all", false, "every server")
	c.MarkFlagsMutuallyExclusive("server", "instance", "all")
	c.MarkFlagsOneRequired("server", "instance", "all")
	c.RunE = func(c *cobra.Command, args []string) error {
		return o.each(c.Context(), args, "shut down", func(ctx context.Context, op cluster, name string) error {
			gone, err := op.Shutdown(ctx, name, operator.Which{All: all, IP: server, Instance: job.InstanceID(instance)})
			if err == nil && len(gone) == 0 {
				return exitf(exitNotFound, "shut down job %s: no such server runs it", name)
			}
			return err
		})
	}
	return c
}

func jobRemove(o *operatorVerb) *cobra.Command {
	var yes, force bool
	c := jobVerb("remove", "Remove a job from the registry, including the state of its guests", "removed", func(op cluster, ctx context.Context, name string) error {
		err := op.Remove(ctx, name, force)
		// The request is refused unless it has force.
		if e, ok := errors.AsType[*host.Error](err); ok && e.Unless == operator.Force {
			return fmt.Errorf("%w, or say --force", err)
		}
		return err
	})(o)
	o.writesHistory = true
	c.Long = "The job ends on every server. A server whose own file defines it creates it again at its next\n" +
		"start, so the verb is refused while there is such a file: a running server's, or the configuration\n" +
		"that is read here; files of servers that are down cannot be checked. It is also refused if the\n" +
		"job's configuration cannot be read, and while an item runs. Rows of its runs stay in the\n" +
		"histories. If the registry is inside the server, instants that the job missed while no server ran\n" +
		"it get their row first. A removal that was interrupted is completed by the next one, or by job\n" +
		"create."
	c.Flags().BoolVar(&yes, "yes", false, "confirm: this cannot be undone")
	c.Flags().BoolVar(&force, "force", false, "even if a file defines it, or its configuration cannot be read")
	remove := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if !yes {
			return usage("this removes the job and the state of its guests; add --yes to confirm")
		}
		return remove(c, args)
	}
	return c
}

// noJobs prints that a list is empty.
func (o *operatorVerb) noJobs(f *config.File) {
	within := "the namespace of the server"
	if f.Registry.Namespace != "" {
		within = "namespace " + f.Registry.Namespace
	}
	o.term.note("there is no job in %s", within)
}
