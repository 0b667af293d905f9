package config

import (
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/internal/nearest"
)

// takes says what kind of value a key wants.
type takes int

const (
	text      takes = iota + 1
	word            // one of a few
	flag            // true or false
	number          // a whole number
	duration        // "90s"
	size            // "64MiB"
	list            // of strings
	texts           // a table of strings with free names
	items           // item parameters: "0=a,1=b" or { 0 = "a" }
	instances       // "per-run" or { pool = 4, max_uses = 100 }
	moment          // 2026-01-02T03:04:05Z, also in quotes
	sums            // a table of numbers with free names
)

// key describes one key of the file: the schema is a list of them. A "*" in the
// path stands for a name that the operator chooses.
type key struct {
	path  string
	takes takes
	words []string // of a word; also what may stand instead of a duration
	later []string // words that a later release will know
	min   int64    // of a number or size
	max   int64
	// kinds are those of the jobs that the key belongs to; none: all. Set in a
	// job of another kind it is an error, and none inherits it.
	kinds []job.Kind
	// plain is set for texts that are taken as they are: without variables.
	plain bool
	// sandbox is set for what a command of the operating system knows nothing of.
	sandbox bool
	// secret is set for what names a secret, and may be one by mistake: no
	// message repeats it.
	secret bool
	// release is set for a key that is known but not served, and says what
	// to do instead. Ignoring such a key would be worse than refusing it: the
	// operator would believe in a limit or a retry that is not there.
	release string
}

const (
	notYet = "remove it"
	off    = "off"
	perRun = "per-run"
)

// schema returns every key of the file. [defaults] has the keys of a job that
// inheritable names.
func schema() []key {
	flow, script := []job.Kind{job.Dataflow}, []job.Kind{job.Script}
	return []key{
		{path: "schema", takes: number, min: 1, max: 1},
		{path: "include", takes: list},

		{path: "server.ip", takes: text},
		{path: "server.data_dir", takes: text},
		{path: "server.drain_timeout", takes: duration},
		{path: "server.log.level", takes: word, words: []string{"debug", "info", "warn", "error"}},
		{path: "server.log.format", takes: word, words: []string{"auto", "text", "json"}},
		{path: "server.labels", takes: texts},
		{path: "server.peer_listen", takes: text},
		{path: "server.peer_address", takes: text},
		{path: "server.peer_token", takes: text, secret: true},
		{path: "server.monitor_ip", takes: text},
		{path: "server.listen", release: notYet},
		{path: "server.tls", release: notYet},
		{path: "server.auth", release: notYet},

		{path: "registry.kind", takes: word, words: []string{Embedded, ZooKeeper}},
		{path: "registry.namespace", takes: text},
		{path: "registry.layout", takes: word, words: []string{"2.1"}, later: []string{"3", "2.0", "1"}},
		{path: "registry.servers", takes: list},
		{path: "registry.chroot", takes: text},
		{path: "registry.session_timeout", takes: duration},
		{path: "registry.digest", takes: text, secret: true},
		{path: "registry.tls.ca", takes: text},
		{path: "registry.tls.cert", takes: text},
		{path: "registry.tls.key", takes: text},
		{path: "registry.tls.server_name", takes: text},

		{path: "host.allow.dirs", takes: list},
		{path: "host.allow.env", takes: list},
		{path: "host.allow.clock", takes: word, words: []string{"fixed", "real"}},
		{path: "host.allow.random", takes: flag},
		{path: "host.allow.http", takes: list},
		{path: "host.allow.private_hosts", takes: list},
		{path: "host.allow.secrets", takes: list},
		{path: "host.allow.state", takes: flag},
		{path: "host.allow_native_scripts", takes: flag},
		{path: "host.memory", takes: size, min: 2 << 20, max: 1 << 50},
		{path: "host.workers", takes: number, min: 1, max: 10_000},
		{path: "host.secrets", takes: texts, secret: true},

		{path: "history.dsn", takes: text},
		{path: "history.retention.age", takes: duration, words: []string{off}},
		{path: "history.retention.per_job", takes: number, min: 1, max: 1_000_000_000},
		{path: "history.retention.size", release: "use age or per_job"},

		{path: "modules.*.source", takes: text},
		{path: "modules.*.sha256", takes: text},
		{path: "modules.*.key", release: "pin the module with sha256"},
		{path: "modules.*.signature", release: "pin the module with sha256"},

		{path: "jobs.*.module", takes: text},
		{path: "jobs.*.kind", takes: word, words: []string{"simple", "dataflow", "script"}},
		{path: "jobs.*.cron", takes: text},
		{path: "jobs.*.schedule", takes: word, words: []string{"manual"}},
		{path: "jobs.*.dialect", takes: word, words: []string{"quartz", "unix"}},
		{path: "jobs.*.timezone", takes: text},
		{path: "jobs.*.shards", takes: number, min: 1, max: job.MaxShards},
		{path: "jobs.*.item_params", takes: items},
		{path: "jobs.*.strategy", takes: text},
		{path: "jobs.*.strategy_module", takes: text},
		{path: "jobs.*.strategy_error", takes: word, words: []string{"average", "keep"}},
		{path: "jobs.*.param", takes: text},
		{path: "jobs.*.description", takes: text},
		{path: "jobs.*.class", takes: text},
		{path: "jobs.*.failover", takes: flag},
		{path: "jobs.*.misfire", takes: flag},
		{path: "jobs.*.monitor_execution", takes: flag},
		{path: "jobs.*.monitor_port", takes: number, min: 1, max: 65535},
		{path: "jobs.*.disabled", takes: flag},
		{path: "jobs.*.overwrite", takes: flag},
		{path: "jobs.*.catch_up", takes: word, words: []string{"none", "last", "all"}},
		{path: "jobs.*.overlap", takes: word, words: []string{"skip", "queue-one", "replace"}},
		{path: "jobs.*.on_registry_loss", takes: word, words: []string{"cancel", "finish"}},
		{path: "jobs.*.timeout", takes: duration, words: []string{off}},
		{path: "jobs.*.parallel", takes: number, min: 1, max: job.MaxShards},
		{path: "jobs.*.reconcile_every", takes: duration, words: []string{off}},
		{path: "jobs.*.max_clock_skew", takes: duration, words: []string{off}},
		{path: "jobs.*.layout", takes: word, words: []string{"2.1"}, later: []string{"3", "2.0", "1"}},
		{path: "jobs.*.config", takes: texts},
		{path: "jobs.*.retry.attempts", takes: number, min: 1, max: job.MaxAttempts},
		{path: "jobs.*.retry.backoff", takes: duration},
		{path: "jobs.*.retry.max_backoff", takes: duration},
		{path: "jobs.*.retry.only_asked", takes: flag, kinds: []job.Kind{job.Simple, job.Dataflow}}, // a script has no way to ask
		{path: "jobs.*.jitter", release: "spread the jobs by their cron"},
		{path: "jobs.*.labels", release: notYet},
		{path: "jobs.*.notify", release: notYet},
		{path: "jobs.*.expect", release: notYet},
		{path: "jobs.*.error_handler", release: notYet},
		{path: "jobs.*.streaming", takes: flag, kinds: flow},
		{path: "jobs.*.fetch_count", takes: number, min: 1, max: job.MaxBatch, kinds: flow},
		{path: "jobs.*.concurrency", takes: number, min: 1, max: job.MaxConcurrency, kinds: flow},
		{path: "jobs.*.args", takes: list, kinds: script},
		{path: "jobs.*.command", takes: text, kinds: script},

		{path: "jobs.*.allow.dirs", takes: list, sandbox: true},
		{path: "jobs.*.allow.env", takes: texts},
		{path: "jobs.*.allow.clock", takes: word, words: []string{"fixed", "real"}, sandbox: true},
		{path: "jobs.*.allow.random", takes: flag, sandbox: true},
		{path: "jobs.*.allow.http", takes: list, sandbox: true},
		{path: "jobs.*.allow.secrets", takes: list, sandbox: true},
		{path: "jobs.*.allow.state", takes: flag, sandbox: true},

		// A page of WebAssembly memory is 64 KiB and there are at most 65,536.
		{path: "jobs.*.limits.memory", takes: size, min: 64 << 10, max: 4 << 30, sandbox: true},
		{path: "jobs.*.limits.result", takes: size, min: 1, max: 64 << 20},
		{path: "jobs.*.limits.log_line", takes: size, min: 64, max: 1 << 20},
		{path: "jobs.*.limits.log_rate", takes: number, min: 1, max: 1_000_000},
		{path: "jobs.*.limits.grace", takes: duration},
		{path: "jobs.*.limits.fuel", takes: number, min: 0, max: 1_000_000_000_000_000_000, sandbox: true},
		{path: "jobs.*.limits.timeout", release: "write timeout in the job itself"},
		{path: "jobs.*.limits.batch", takes: size, min: 1, max: 1 << 30, kinds: flow},
		{path: "jobs.*.limits.http_calls", takes: number, min: 1, max: job.MaxHTTPCalls, sandbox: true},
		{path: "jobs.*.limits.http_body", takes: size, min: 1, max: job.MaxHTTPBody, sandbox: true},
		{path: "jobs.*.limits.state_value", takes: size, min: 1, max: job.MaxState, sandbox: true},
		{path: "jobs.*.limits.open_files", takes: number, min: 1, max: job.MaxOpenFiles, sandbox: true},
		{path: "jobs.*.limits.instance", takes: instances, kinds: []job.Kind{job.Simple, job.Dataflow}},
		{path: "jobs.*.limits.isolation", release: notYet},

		{path: "notify", release: notYet},
	}
}

// inheritable are the keys of a job that [defaults] may set for all of them:
// those that say how to run, not what.
func inheritable() []string {
	return []string{
		"dialect", "timezone", "strategy", "strategy_module", "strategy_error", "failover", "misfire", "monitor_execution", "overwrite",
		"catch_up", "overlap", "on_registry_loss", "timeout", "parallel", "reconcile_every", "max_clock_skew", "layout",
		"retry.attempts", "retry.backoff", "retry.max_backoff",
		"limits.memory", "limits.result", "limits.log_line", "limits.log_rate", "limits.grace", "limits.fuel",
		"limits.batch", "limits.http_calls", "limits.http_body", "limits.state_value", "limits.open_files", "limits.instance",
	}
}

// belongs reports whether a job of this kind, with a command or a module, has
// the key.
func (k key) belongs(kind job.Kind, command bool) bool {
	return (len(k.kinds) == 0 || slices.Contains(k.kinds, kind)) && !(k.sandbox && command)
}

// node is the schema as a tree: a table has children, a key has none.
type node struct {
	key      key
	children map[string]*node
}

// schemaTree builds the tree, [defaults] included.
func schemaTree(keys []key) *node {
	root := &node{}
	inherited := inheritable()
	for _, k := range keys {
		root.add(k.path, k)
		name, ofJob := strings.CutPrefix(k.path, "jobs.*.")
		if ofJob && slices.Contains(inherited, name) {
			root.add("defaults."+name, k)
		}
	}
	return root
}

func (n *node) add(path string, k key) {
	for name := range strings.SplitSeq(path, ".") {
		child := n.children[name]
		if child == nil {
			child = &node{}
			if n.children == nil {
				n.children = map[string]*node{}
			}
			n.children[name] = child
		}
		n = child
	}
	n.key = k
}

// free reports whether the names in this table are the operator's.
func (n *node) free() bool { return n.children["*"] != nil }

func (n *node) child(name string) *node {
	if n.free() {
		return n.children["*"]
	}
	return n.children[name]
}

// names are the keys that can stand in this table, ascending.
func (n *node) names() []string {
	var names []string
	for name := range n.children {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// meant is the key of this table that name was probably meant to be, or "".
func (n *node) meant(name string) string {
	if known := elastic(name); n.children[known] != nil {
		return known
	}
	return nearest.To(name, n.names())
}

// elastic gives our name of a key that ElasticJob calls otherwise.
func elastic(name string) string {
	switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
	case "shardingtotalcount":
		return "shards"
	case "shardingitemparameters":
		return "item_params"
	case "jobparameter":
		return "param"
	case "jobshardingstrategyclass", "jobshardingstrategytype":
		return "strategy"
	case "reconcileintervalminutes":
		return "reconcile_every"
	case "maxtimediffseconds":
		return "max_clock_skew"
	case "serverlists":
		return "servers"
	case "sessiontimeoutmilliseconds":
		return "session_timeout"
	case "monitorport":
		return "monitor_port"
	case "jobclass":
		return "class"
	case "jobtype":
		return "kind"
	case "streamingprocess":
		return "streaming"
	case "scriptcommandline":
		return "command"
	case "fetchdatacount":
		return "fetch_count"
	case "concurrentdataprocessthreadcount":
		return "concurrency"
	}
	return ""
}
