package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/shadow"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
	"github.com/wasmjob/wasmjob/internal/queue"
)

// serveFlags are the flags of "serve".
type serveFlags struct {
	files   []string
	dataDir string
	events  string
	shadow  bool
}

func serveCommand(term *terminal) *cobra.Command {
	var flags serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the jobs of a configuration",
		Long: "Serve runs jobs until SIGTERM, which lets running items finish within drain_timeout, or SIGINT\n" +
			"(Ctrl-C), which asks them to stop at once and ends them when their grace is over; a second signal\n" +
			"ends all commands of the operating system at once, and then the program. On a terminal it shows\n" +
			"events line by line; otherwise it logs JSON. Both go to standard error.\n\n" +
			"At SIGHUP it reads its files again, including modules, and uses the jobs in them without a\n" +
			"restart. If the files have a fault, it reports that and keeps its configuration. When the terminal\n" +
			"on which it was started goes away, it stops as at SIGTERM.\n\n" +
			"With --events - it also prints a JSON object on standard output as each item starts and ends.\n\n" +
			"With --shadow it joins nothing, runs nothing and writes nothing into the registry: it logs which\n" +
			"items it would begin if it were one more server of each job, which servers have them, and when\n" +
			"they began there.",
		Example: "  wasmjobd serve --config jobs.toml\n  wasmjobd serve --events - 2>serve.log | jq .",
		Args:    cobra.NoArgs,
	}
	paths := configFlag(c)
	c.Flags().StringVar(&flags.dataDir, "data-dir", "", "`directory` for registry, history and modules, instead of data_dir in the file")
	c.Flags().StringVar(&flags.events, "events", "", "where to write the starts and ends of items; only - (standard output)")
	c.Flags().BoolVar(&flags.shadow, "shadow", false, "only print what this server would run")
	c.RunE = func(c *cobra.Command, _ []string) error {
		flags.files = *paths
		return serve(c.Context(), term, flags)
	}
	return c
}

func serve(ctx context.Context, term *terminal, flags serveFlags) error {
	if flags.events != "" && flags.events != "-" {
		return usage("--events %s: write - for standard output", flags.events)
	}
	t, err := serveTerminal(term, flags)
	if err != nil {
		return err
	}
	f, err := loadConfig(t, flags.files)
	if err != nil {
		return err
	}
	keys, err := fetchKeys(f, term)
	if err != nil {
		return err
	}
	// A reader of the log or the events may go away without ending the jobs.
	signal.Ignore(syscall.SIGPIPE)
	said, readable := newLogger(term.err, f.Server)
	screen := isTerminal(term.err) // before term.err becomes the queue
	// A reader that is slow must not block the jobs: log, events and messages go through one queue.
	queued := queue.NewHandler(said.Handler())
	log := slog.New(queued)
	term.err, term.flush = queued.Writer(term.err), func() { queued.Flush(flushPatience) }
	show := logEvents(log)
	if readable {
		show = printEvents(term.err, log)
	}
	var lastly atomic.Pointer[func()] // empty until there is a host
	runLast := func() {
		if do := lastly.Load(); do != nil {
			(*do)()
		}
	}
	reload := newReloader(term, flags, f, log)
	reload.screen = screen
	do := func(ctx context.Context, observe func(host.Event)) error {
		if flags.shadow {
			return serveShadow(ctx, f, keys, log, observe)
		}
		reload.manager = newNotifier(term.env, log)
		return serveJobs(ctx, reload, keys, observe, &lastly)
	}
	return untilSignals(ctx, signalled{reload.hangup, runLast}, func(ctx context.Context) error {
		if flags.events != "-" {
			return do(ctx, show)
		}
		return withEvents(term.out, log, func(emit func(host.Event)) error {
			return do(ctx, func(e host.Event) {
				show(e)
				emit(e)
			})
		})
	})
}

// flushPatience is how long the end of the program waits for a reader of the log.
const flushPatience = 2 * time.Second

// keys are what a server needs in addition to the configuration: secrets and their like.
type keys struct {
	secrets    map[string]string // of jobs
	access     config.Access     // to the registry
	peers      string            // token of all servers
	history    sqltrace.Location // with its password
	notifiers  map[string]config.NotifierSecrets
	compiler   []string // see host.Options
	supervisor []string // see host.Options
}

// fetchKeys reads the secrets that a configuration names. The error has all that are missing.
func fetchKeys(f *config.File, term *terminal) (keys, error) {
	env := term.env
	secrets, err := f.Secrets(env)
	access, accessErr := f.Access(env)
	peers, peersErr := f.PeerToken(env)
	history, historyErr := historyAt(term, f)
	notifiers, notifiersErr := f.Notifiers(env)
	if err := errors.Join(err, accessErr, peersErr, historyErr, notifiersErr); err != nil {
		return keys{}, exitf(exitInvalid, "secrets are not there:\n%w", err)
	}
	return keys{secrets, access, peers, history, notifiers, itself(term, compileVerb), itself(term, superviseVerb)}, nil
}

// commandsPatience is how long a second signal waits until commands are gone.
const commandsPatience = 5 * time.Second

// serveJobs runs the configuration of reload, which may be read again, until ctx ends. It sets lastly
// to what must be done if the process ends without waiting for serveJobs. observe receives the events
// of the host for the log and for --events.
func serveJobs(ctx context.Context, reload *reloader, k keys, observe func(host.Event), lastly *atomic.Pointer[func()]) error {
	f, log := reload.file(), reload.log
	k.history.Log = log
	o := options(f, log, func(e host.Event) {
		observe(e)
		e.Parameter = "" // callers that follow events may have fewer rights than those who can read the configuration
		reload.events.Add(e.Kind, e.Config.Name, lineOf(e))
	})
	reload.alerts = newAlerts(f, k.notifiers, log)
	o.Count = func(e *host.Event) {
		reload.metrics.Count(e)
		reload.alerts.Count(e)
	}
	o.Logs, o.Pull = reload.logs, pullFor(reload.term)
	o.Secrets, o.Peers.Token, o.Compiler, o.Supervisor = k.secrets, k.peers, k.compiler, k.supervisor
	if f.Registry.Kind == config.ZooKeeper || f.Server.IP != "" { // otherwise loopback is enough: no other server sees the id
		var err error
		if o.Instance, err = instanceOf(f, log); err != nil {
			return err
		}
	}
	reload.push = operator.Push{Examine: guest.NewExaminer(itself(reload.term, examineVerb)).Examine}
	if f.Registry.Kind == config.ZooKeeper { // otherwise there is no other server
		reload.push.Token, reload.push.Self = k.peers, o.Instance
	}
	return withSpans(ctx, &o, reload.term.env, log, func() error {
		return withHistory(ctx, f, k.history, func(rows *sqltrace.Store) error {
			return withSpool(ctx, reload, rows, func(sink trace.Sink) error {
				o.Sinks = []trace.Sink{sink}
				return coded(withServed(ctx, reload, k.access, rows, func(r registry.Registry, shared *operator.SharedSession) error {
					o.Registry = r
					h, err := host.New(o)
					if err == nil {
						reload.metrics.Watch(h)
						lastly.Store(new(func() {
							within, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandsPatience)
							defer cancel()
							h.EndCommands(within)
						}))
						reload.ip = o.WithDefaults().Instance.IP()
						stop := watchAlerts(ctx, reload, r, string(o.WithDefaults().Instance))
						err = runHost(ctx, h, reload, shared, rows)
						stop() // after runHost, whose last rows may still raise alerts
					}
					return err
				}))
			})
		})
	})
}

// serveShadow reports what a configuration would run, until ctx ends.
func serveShadow(ctx context.Context, f *config.File, k keys, log *slog.Logger, observe func(host.Event)) error {
	if f.Registry.Kind != config.ZooKeeper {
		return usage("--shadow: the embedded registry has no other servers to be compared with; set [registry] kind")
	}
	o := options(f, log, observe)
	var err error
	if o.Instance, err = instanceOf(f, log); err != nil {
		return err
	}
	const readOnly = true // the session refuses writes
	return coded(withRegistry(f, k.access, readOnly, log, func(r registry.Registry) error {
		o.Registry = r
		log.Info("shadow started: it joins nothing, and reports what it would run", "jobs", len(f.Jobs), "instance", o.Instance)
		return shadow.Run(ctx, o)
	}))
}

// instanceOf returns the id of this server in a shared registry.
func instanceOf(f *config.File, log *slog.Logger) (job.InstanceID, error) {
	ip, chosen, err := serverIP(f)
	if err != nil {
		return "", err
	}
	if chosen {
		log.Info("chose the address that identifies this server; to change it, set ip in [server]", "ip", ip)
	}
	return job.NewInstanceID(ip, strconv.Itoa(os.Getpid())), nil
}

// serveTerminal returns the terminal with which the configuration is read. Flags override the
// environment, and the environment overrides the file.
func serveTerminal(term *terminal, flags serveFlags) (*terminal, error) {
	t := *term
	if flags.dataDir != "" {
		dir, err := filepath.Abs(flags.dataDir)
		if err != nil {
			return nil, fmt.Errorf("--data-dir: %w", err)
		}
		t.env = append(slices.Clip(t.env), "WASMJOBD_SERVER__DATA_DIR="+dir)
	}
	return &t, nil
}

// options returns the options of a host that the configuration alone determines. Besides servers, verbs
// use them that ask what a server with this configuration would do; those have no observe.
func options(f *config.File, log *slog.Logger, observe func(host.Event)) host.Options {
	return host.Options{
		Namespace: f.Registry.Namespace, Jobs: f.Jobs, Modules: modulesIn(f), ModuleKeys: f.Host.ModuleKeys,
		DataDir: f.Server.DataDir, DrainTimeout: f.Server.DrainTimeout, NoDrain: f.Server.DrainTimeout == 0, // without NoDrain, 0 means the default
		Log: log, Observe: observe,
		Memory: f.Host.Memory, Workers: f.Host.Workers, PrivateHosts: f.Host.Allow.PrivateHosts, NativeScripts: f.Host.NativeScripts, Labels: f.Server.Labels,
		Allow: f.Host.Allow, Private: f.Private(), Discover: f.Registry.Kind == config.ZooKeeper, Peers: host.Peers{Listen: f.Server.Peers.Listen, Address: f.Server.Peers.Address},
		MonitorIP: f.Server.MonitorIP,
		Alone:     true, // this process runs nothing else
		Created:   true, // also run the jobs that an operator has created in the registry
	}
}

// modulesIn returns the modules of a configuration in the form of host.Options.
func modulesIn(f *config.File) map[string]host.Module {
	modules := map[string]host.Module{}
	for _, m := range f.Modules {
		modules[m.Name] = host.Module{Path: m.Path, Artifact: m.Artifact, SHA256: m.SHA256, Keys: m.Keys}
	}
	return modules
}

// runHost runs the host until ctx ends, together with everything that serves it: the purge of old rows,
// the reading of changed files, the requests that operators have left in the registry, and the reports
// to the service manager.
func runHost(ctx context.Context, h *host.Host, reload *reloader, shared *operator.SharedSession, rows *sqltrace.Store) error {
	f, log := reload.file(), reload.log
	serving, stop := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	tasks.Go(func() { tendHistory(serving, f.History, log, rows) })
	tasks.Go(func() { reload.run(serving, h) })
	tasks.Go(func() { shared.CarryOut(serving, h, log) })
	tasks.Go(func() { shared.KeepDrained(serving, reload.ip, reload.reportDrain, log) })
	ended := make(chan struct{})
	tasks.Go(func() { reload.manager.run(ctx, ended, h, reload.metrics) }) // also while the host drains
	tasks.Go(func() {
		select {
		case <-h.Ready():
			log.Info("ready", "jobs", len(f.Jobs), "data_dir", f.Server.DataDir, "registry", f.Registry.Kind)
		case <-serving.Done():
		}
	})
	err := h.Run(ctx)
	close(ended)
	stop()
	tasks.Wait()
	if err == nil {
		log.Info("stopped")
	}
	return err
}

// newLogger makes the server's log. It is readable on a terminal, or if the configuration says
// text, and otherwise JSON.
func newLogger(to io.Writer, s config.Server) (log *slog.Logger, readable bool) {
	readable = s.LogFormat == "text" || s.LogFormat != "json" && isTerminal(to)
	if readable {
		return slog.New(newLineHandler(to, s.LogLevel)), true
	}
	return slog.New(slog.NewJSONHandler(jsonWriter{to}, &slog.HandlerOptions{Level: s.LogLevel})), false
}

// isTerminal reports whether a person may be reading what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
