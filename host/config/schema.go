package config

import (
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/internal/nearest"
)

// takes is the type of a key's value.
type takes = job.SettingType

const (
	text      = job.Text
	word      = job.Word
	flag      = job.Flag
	number    = job.Number
	duration  = job.Duration
	size      = job.Size
	list      = job.List
	texts     = job.Texts
	items     = job.Items
	instances = job.Instances

	moment takes = "moment" // 2026-01-02T03:04:05Z, with or without quotes
	sums   takes = "sums"   // a table of numbers with free names
)

// key describes one key of the file; the schema is a list of them. A "*" in the path stands for
// a name that the operator chooses.
type key struct {
	path  string
	takes takes
	words []string // of a word; also the words allowed in place of a duration
	min   int64    // of a number or size
	max   int64
	// inherits is set for a job's key that [defaults] may set for all jobs: it says how to run,
	// not what.
	inherits bool
	// plain is set for texts in which variables are not replaced.
	plain bool
	// secret is set for keys that name a secret. The value may be the secret itself by mistake,
	// so no message repeats it.
	secret bool
	// release is set for a key that is known but not supported, and says what to do instead.
	// Such a key is refused, not ignored: otherwise the operator would rely on a limit or a
	// retry that does not exist.
	release string
	// about and unset describe a key of a file of cases: its meaning, and its default. For keys
	// of jobs.toml, that file has these.
	about, unset string
}

const (
	notYet = "remove it" // the release of a key that has no replacement
	off    = "off"       // the word for no duration
	perRun = "per-run"   // the word for one instance for each run
)

// schema returns every key of the file. Those of a job are its settings.
func schema() []key {
	keys := []key{
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
		{path: "server.listen", release: "write listen in [admin]"},
		{path: "server.tls", release: "write [admin.tls]"},
		{path: "server.auth", release: notYet},

		{path: "admin.listen", takes: text},
		{path: "admin.tls.cert", takes: text},
		{path: "admin.tls.key", takes: text},
		{path: "admin.tls.client_ca", takes: text},

		{path: "registry.kind", takes: word, words: []string{Embedded, ZooKeeper}},
		{path: "registry.namespace", takes: text},
		{path: "registry.layout", takes: word, words: []string{job.Layout1, job.Layout20, job.Layout21, job.Layout3}},
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
		{path: "host.module_keys", takes: list},
		{path: "host.secrets", takes: texts, secret: true},

		{path: "history.dsn", takes: text},
		{path: "history.password", takes: text, secret: true},
		{path: "history.elasticjob_tables", takes: flag},
		{path: "history.retention.age", takes: duration, words: []string{off}},
		{path: "history.retention.per_job", takes: number, min: 1, max: 1_000_000_000},
		{path: "history.retention.size", takes: size, min: 1 << 20, max: 1 << 50},

		{path: "calendars.*.days", takes: list},

		{path: "modules.*.source", takes: text},
		{path: "modules.*.sha256", takes: text},
		{path: "modules.*.keys", takes: list},
		{path: "modules.*.signature", release: "remove it, and put the signature beside the file, as MODULE.wasm.minisig"},

		{path: "jobs.*.schedule", takes: word, words: []string{"manual"}},
		{path: "jobs.*.labels", release: notYet},
		{path: "jobs.*.limits.timeout", release: "write timeout in the job itself"},
		{path: "jobs.*.limits.isolation", release: notYet},

		{path: "notify.*.webhook", takes: text, secret: true},
		{path: "notify.*.key", takes: text, secret: true},
		{path: "notify.*.mail.server", takes: text},
		{path: "notify.*.mail.from", takes: text},
		{path: "notify.*.mail.to", takes: list},
		{path: "notify.*.mail.user", takes: text},
		{path: "notify.*.mail.password", takes: text, secret: true},
		{path: "notify.*.events", takes: list},
	}
	for s := range job.Settings() {
		keys = append(keys, keyOf(&s))
	}
	return keys
}

// keyOf returns the key of a job's setting. The word for its zero value is one of its words.
func keyOf(s *job.Setting) key {
	k := key{
		path: "jobs.*." + s.Name, takes: s.Type, words: s.Words, min: s.Min, max: s.Max, inherits: s.Inherits,
	}
	if s.Zero != "" {
		k.words = append([]string{s.Zero}, s.Words...)
	}
	return k
}

// node is the schema as a tree: a table has children, a key has none.
type node struct {
	key      key
	children map[string]*node
}

// schemaTree builds the tree, including [defaults].
func schemaTree(keys []key) *node {
	root := &node{}
	for _, k := range keys {
		root.add(k.path, k)
		if k.inherits {
			root.add("defaults."+strings.TrimPrefix(k.path, "jobs.*."), k)
		}
	}
	return root
}

// add adds key k at a path below n.
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

// free reports whether the operator chooses the names in this table.
func (n *node) free() bool { return n.children["*"] != nil }

// child returns the schema of a name in this table, or nil if the table cannot have it.
func (n *node) child(name string) *node {
	if n.free() {
		return n.children["*"]
	}
	return n.children[name]
}

// names returns the keys that this table can have, sorted.
func (n *node) names() []string { return sortedNames(n.children) }

// meant returns the key of this table that resembles name, or "".
func (n *node) meant(name string) string {
	if known := elastic(name); n.children[known] != nil {
		return known
	}
	return nearest.To(name, n.names())
}

// elasticKeys maps keys of ElasticJob, in lower case, to ours, where no setting of a job has
// them.
var elasticKeys = map[string]string{ // read only
	"jobshardingstrategytype": "strategy", "serverlists": "servers", "sessiontimeoutmilliseconds": "session_timeout",
	"fetchdatacount": "fetch_count", "concurrentdataprocessthreadcount": "concurrency",
}

// elastic returns our name for a key that ElasticJob names differently.
func elastic(name string) string {
	plain := strings.ToLower(strings.ReplaceAll(name, "_", ""))
	if ours, ok := elasticKeys[plain]; ok {
		return ours
	}
	for s := range job.Settings() {
		if strings.EqualFold(s.Key, plain) && plain != "" {
			return s.Name
		}
	}
	return ""
}
