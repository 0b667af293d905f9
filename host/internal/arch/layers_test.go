package arch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// layer is one row of the table: what a package may import. Anything else is forbidden,
// also to its tests unless tests names it.
type layer struct {
	pkg   string
	may   []string // our packages
	libs  []string // third-party modules, as prefixes of import paths
	tests []string // additional imports of its tests
	why   string
}

// testLibs may be used by the tests of every package.
var testLibs = []string{"github.com/google/go-cmp", "go.uber.org/goleak"}

// testPackages are our packages that the tests of every package may use.
var testPackages = []string{"host/job/recorded", "host/internal/layout/spelling", "host/internal/layout/v21"}

var pureStd = []string{"bytes", "cmp", "errors", "fmt", "iter", "maps", "math", "slices", "strconv", "strings", "time"}

// layers is ordered from the bottom up.
var layers = []layer{
	{pkg: "internal/smalldisk", why: "a disk that is soon full, for tests alone"},
	{pkg: "internal/queue", why: "what must not wait hands functions to it; what they do is not its business"},
	{pkg: "internal/connections", why: "it counts connections; what is asked on them is not its business"},
	{pkg: "internal/nearest", why: "names of anything; whose they are is not its business"},
	{pkg: "abi", why: "guests in every language and TinyGo build against it"},
	{pkg: "abi/conformance", may: []string{"abi"}, why: "it checks any host, so it knows none"},
	{pkg: "strategy", may: []string{"internal/nearest"}, why: "an algorithm over names and numbers; embedders call it on its own"},
	{pkg: "host/job", may: []string{"host/reason"}, why: "the nouns that everything else shares import nothing, or cycles follow"},
	{pkg: "host/job/recorded", why: "it opens files for tests"},

	{pkg: "host/reason", why: "a list of codes and their words; what produces them comes later"},

	{pkg: "host/internal/backoff", why: "it counts failures; what failed, and who waits, is not its business"},
	{pkg: "host/registry", tests: []string{"host", "host/job", "host/registry/registrytest", "host/registry/tree"}, why: "a port knows neither its adapters nor what is stored"},
	{pkg: "host/registry/registrytest", may: []string{"host/registry"}, tests: []string{"host/registry/tree", "host/registry/embedded"},
		why: "the conformance suite proves any adapter, so it knows none"},
	{pkg: "host/registry/tree", may: []string{"host/registry"}, tests: []string{"host/registry/registrytest"},
		why: "the simulator runs it: no disk, no goroutine, no clock"},
	{pkg: "host/registry/internal/events", may: []string{"host/registry"}, why: "it delivers for any adapter, so it knows none"},
	{pkg: "host/registry/embedded", may: []string{"host/registry", "host/registry/internal/events", "host/registry/tree"}, libs: []string{"golang.org/x/sys"},
		tests: []string{"host/registry/registrytest", "go.etcd.io/bbolt"},
		why:   "an adapter knows the port and the tree that it makes durable"},

	{pkg: "host/registry/zk", may: []string{"host/internal/backoff", "host/registry", "host/registry/internal/events"}, libs: []string{"github.com/go-zookeeper/zk"},
		tests: []string{"host/registry/registrytest", "host/registry/zk/zktest"},
		why:   "an adapter knows the port and the one library that it makes safe"},
	{pkg: "host/registry/zk/zktest", tests: []string{"host/registry", "host/registry/zk"}, why: "it starts servers for any test, of whatever client"},

	{pkg: "host/runlog", why: "it keeps lines; who logs and who follows is not its business"},
	{pkg: "host/trace", may: []string{"host/job", "host/reason"}, why: "rows are nouns; who keeps them comes later"},
	{pkg: "host/trace/sqltrace", may: []string{"host/trace", "host/reason", "host/job"}, tests: []string{"github.com/go-sql-driver/mysql", "github.com/jackc/pgx/v5", "modernc.org/sqlite", "internal/smalldisk", "host/trace/sqltrace/sqltest"},
		why: "SQL stays behind the sink; the driver is chosen in cmd"},
	{pkg: "host/trace/sqltrace/sqltest", why: "it starts servers for any test, of whatever store"},

	{pkg: "host/internal/protocol", may: []string{"host/internal/backoff", "host/job", "host/reason"}, tests: []string{"host/internal/layout", "host/internal/mirror", "host/registry", "host/registry/tree"},
		why: "decisions are a function of a view: no I/O, no spelling, no third party"},
	{pkg: "host/internal/admission", may: []string{"host/job", "host/reason"},
		why: "one question, answered by facts; who reads those, and what becomes of the answer, is not its business"},
	{pkg: "host/internal/jsonvalue", why: "how a value of ours becomes text; what it means is not its business"},
	{pkg: "host/internal/definition", may: []string{"host/internal/jsonvalue", "host/job"}, tests: []string{"host/internal/admission", "host/internal/layout", "host/internal/protocol", "host/reason"},
		why: "what a job is, and how what a file says is merged with it: no path, no text of a layout"},
	{pkg: "host/internal/discovery", may: []string{"host/internal/backoff", "host/reason"},
		why: "names and answers in, what to do out; what a job is, and who reads it, is not its business"},
	{pkg: "host/internal/layout/spelling", may: []string{"host/internal/definition", "host/internal/jsonvalue", "host/internal/protocol", "host/registry", "host/job", "host/reason"},
		why: "what all layouts spell alike; where it stands each of them knows"},
	{pkg: "host/internal/layout/gson", may: []string{"host/job"}, why: "text of any object; which keys there are each layout knows"},
	{pkg: "host/internal/layout/snakeyaml", libs: []string{"go.yaml.in/yaml/v3"}, why: "text of any mapping; which keys there are each layout knows"},
	{pkg: "host/internal/layout/jobtree", may: []string{"host/internal/definition", "host/internal/jsonvalue", "host/internal/layout/servertree", "host/internal/layout/spelling", "host/internal/protocol", "host/registry", "host/job", "host/reason"}, tests: []string{"host/registry/tree"},
		why: "it knows the facts, the nodes and the ops, not who carries them, and no layout but by its Dialect"},
	{pkg: "host/internal/layout/clustertree", may: []string{"host/internal/jsonvalue", "host/registry"},
		why: "nodes and values of what belongs to no job; who writes them, and when, is not its business"},
	{pkg: "host/internal/layout/v21", may: []string{"host/internal/definition", "host/internal/jsonvalue", "host/internal/layout/gson", "host/internal/layout/jobtree", "host/internal/layout/spelling", "host/internal/protocol", "host/registry", "host/job"}, tests: []string{"host/internal/layout/clustertree", "host/internal/layout/servertree", "host/registry/tree"}, why: "what one layout spells in its own way; no other layout"},
	{pkg: "host/internal/layout/v3", may: []string{"host/internal/definition", "host/internal/jsonvalue", "host/internal/layout/jobtree", "host/internal/layout/snakeyaml", "host/internal/layout/spelling", "host/internal/protocol", "host/internal/schedule", "host/registry", "host/job"}, tests: []string{"host/registry/tree"}, why: "what one layout spells in its own way; no other layout"},
	{pkg: "host/internal/layout/servertree", may: []string{"host/internal/layout/spelling", "host/registry"}, why: "nodes of members that are known by their addresses; what a job is each layout knows"},
	{pkg: "host/internal/layout/v20", may: []string{"host/internal/definition", "host/internal/layout/jobtree", "host/internal/layout/v21", "host/internal/protocol", "host/registry", "host/job"}, why: "what one layout spells in its own way; its configuration is that of 2.1 without a key"},
	{pkg: "host/internal/layout/v1", may: []string{"host/internal/definition", "host/internal/layout/jobtree", "host/internal/layout/v21", "host/internal/protocol", "host/registry", "host/job"}, tests: []string{"host/registry/tree"}, why: "what one layout spells in its own way; its settings are some of those of 2.1"},
	{pkg: "host/internal/layout", may: []string{"host/internal/admission", "host/internal/definition", "host/internal/layout/jobtree", "host/internal/layout/servertree", "host/internal/layout/spelling", "host/internal/layout/v1", "host/internal/layout/v20", "host/internal/layout/v21", "host/internal/layout/v3", "host/internal/protocol", "host/registry", "host/job", "host/reason"},
		why: "it chooses among layouts; nobody else names one"},
	{pkg: "host/internal/layout/migration", may: []string{"host/internal/layout", "host/internal/layout/jobtree", "host/internal/layout/servertree", "host/internal/layout/spelling", "host/internal/layout/v1", "host/internal/layout/v20", "host/internal/layout/v21", "host/internal/layout/v3", "host/internal/protocol", "host/registry", "host/job"}, tests: []string{"host/registry/tree"},
		why: "nodes of one layout in, writes of another out; who carries them is not its business"},
	{pkg: "host/internal/mirror", may: []string{"host/registry"}, tests: []string{"host/registry/tree"},
		why: "events and replies in, a view out; the simulator runs the same code"},
	{pkg: "host/internal/follow", may: []string{"host/internal/backoff", "host/internal/protocol", "host/internal/layout", "host/internal/mirror", "host/registry"}, tests: []string{"host/registry/tree", "host/job"},
		why: "it judges answers and says what to ask; who asks, and how, differs between server and simulator"},

	{pkg: "host/internal/status", may: []string{"host/internal/protocol", "host/job", "host/reason"}, why: "it tells what views say; who reads it, and in which words, is not its business"},
	{pkg: "host/internal/schedule", may: []string{"host/job", "abi"}, libs: []string{"github.com/robfig/cron/v3"},
		tests: []string{"github.com/hashicorp/cronexpr"},
		why:   "cron and the ticker know nothing of shards or registries"},
	{pkg: "host/internal/wasm", why: "it reads bytes; what a module may be, and what becomes of it, is decided elsewhere"},
	{pkg: "host/internal/meter", may: []string{"host/internal/wasm"}, tests: []string{"github.com/tetratelabs/wazero"},
		why: "it turns bytes into bytes; what came out is run by its tests and by the sandbox"},
	{pkg: "host/internal/sandbox", may: []string{"internal/nearest", "host/job", "abi", "host/internal/lograte", "host/internal/meter", "host/internal/reach", "host/internal/wasm"}, libs: []string{"github.com/tetratelabs/wazero", "golang.org/x/sync", "golang.org/x/sys"},
		why: "a guest is a call with limits; why it is called is not its business"},
	{pkg: "host/internal/reach", may: []string{"host/job"}, libs: []string{"golang.org/x/sys"}, why: "it compares directories; what is private is told to it"},
	{pkg: "host/internal/lograte", why: "it counts the lines of any guest, and sees none"},
	{pkg: "host/internal/native", may: []string{"host/internal/backoff", "host/job", "host/internal/lograte"}, libs: []string{"golang.org/x/sys"},
		tests: []string{"host/internal/native/nativetest"},
		why:   "a command is a call without a sandbox; why it is called is not its business"},
	{pkg: "host/internal/native/nativetest", why: "it starts a test binary anew, for tests alone"},
	{pkg: "host/internal/signature", libs: []string{"aead.dev/minisign"}, why: "a text says who signed bytes; where either is from is not its business"},
	{pkg: "internal/oci", libs: []string{"oras.land/oras-go/v2", "github.com/opencontainers/go-digest", "github.com/opencontainers/image-spec"}, why: "it carries bytes to registries of artifacts; what they are is not its business"},
	{pkg: "internal/signaturetest", why: "it signs, for tests alone"},
	{pkg: "host/internal/module", may: []string{"host/internal/signature"}, tests: []string{"internal/smalldisk", "internal/signaturetest"}, why: "files by digest, nothing of runs"},
	{pkg: "host/internal/lockfile", why: "it locks a file; what the lock is for is not its business"},
	{pkg: "host/internal/peer", may: []string{"internal/connections", "host/internal/module", "host/internal/signature"}, tests: []string{"internal/signaturetest"}, why: "it carries bytes by digest; whose they are and who runs them is not its business"},
	{pkg: "host/internal/outbound", may: []string{"host/job"}, why: "it sends what a guest asks for, and knows neither guests nor engines"},

	{pkg: "host/internal/supply", may: []string{"abi", "host/job", "host/internal/module", "host/internal/native", "host/internal/outbound", "host/internal/peer", "host/internal/sandbox", "host/internal/signature"}, tests: []string{"internal/signaturetest"}, why: "it has the code of jobs ready; which jobs there are, and who may run them, the host decides"},

	{pkg: "host/internal/session", may: []string{"host/internal/backoff", "host/reason", "host/registry"}, libs: []string{"golang.org/x/sys"},
		tests: []string{"host/registry/registrytest", "host/registry/embedded"},
		why:   "it shares the port's session out by path; what a path means is not its business"},
	{pkg: "host/internal/removal", may: []string{"host/internal/layout", "host/registry"}, tests: []string{"host/registry/embedded"}, why: "it deletes the nodes of a job that nobody has any more; who asks for that is above"},
	{pkg: "host/internal/finder", may: []string{"host/internal/admission", "host/internal/backoff", "host/internal/discovery", "host/internal/layout", "host/internal/layout/clustertree", "host/internal/session", "host/job", "host/reason", "host/registry"}, tests: []string{"host/internal/protocol", "host/registry/embedded"}, why: "it carries out what discovery decides; how a job runs here, the host says"},
	{pkg: "host/internal/workers", may: []string{"host/job"}, why: "it counts who computes; what runs is not its business"},
	{pkg: "host/internal/runner", may: []string{"host/runlog", "host/internal/admission", "host/internal/backoff", "host/internal/protocol", "host/internal/definition", "host/internal/layout", "host/internal/layout/spelling", "host/internal/follow", "host/internal/mirror", "host/internal/removal", "host/internal/session", "host/internal/status", "host/internal/workers", "host/registry", "host/trace", "host/job", "host/reason"},
		tests: []string{"host/internal/finder", "host/registry/tree", "host/registry/embedded", "host/registry/registrytest", "strategy"},
		why:   "it declares the ports of schedule and sandbox and meets them only through those"},
	{pkg: "host/internal/clock", may: []string{"host/internal/runner", "host/internal/schedule", "host/job"}, why: "it is the runner's clock, made of a schedule; what happens at an instant is decided elsewhere"},
	{pkg: "host/internal/assign", may: []string{"host/internal/protocol", "host/job", "strategy"}, why: "it asks strategies; when, and what becomes of the answer, is decided elsewhere"},
	{pkg: "host/internal/dump", may: []string{"host/internal/layout", "host/registry"}, tests: []string{"host/registry/embedded"}, why: "it writes down nodes; who may see them is decided by who calls it"},
	{pkg: "host/internal/outputs", may: []string{"internal/queue", "host/reason"}, why: "it puts queues before what may block; what is told is not its business"},
	{pkg: "host/internal/sim", may: []string{"host/internal/admission", "host/internal/definition", "host/internal/protocol", "host/internal/layout", "host/internal/layout/spelling", "host/internal/layout/v21", "host/internal/follow", "host/internal/mirror", "host/internal/removal", "host/registry", "host/registry/tree", "host/job", "host/reason", "host/trace", "strategy"},
		tests: []string{"host/internal/overlay", "host/registry/registrytest"},
		why:   "it runs the shipped core and replaces sockets, clocks and guests"},
	{pkg: "host/internal/sim/golden", may: []string{"host/internal/protocol", "host/internal/layout", "host/internal/layout/v21", "host/internal/mirror", "host/registry", "host/registry/tree", "host/job", "strategy"},
		tests: []string{"host/internal/cluster", "host/registry/zk/zktest"},
		why:   "it compares what the core writes with what ElasticJob wrote"},
	{pkg: "host/internal/overlay", why: "it edits sources as text, for tests alone; what they mean is not its business"},
	{pkg: "host/internal/arch", why: "tests only"},

	{pkg: "host/internal/missed", may: []string{"host/job", "host/registry", "host/trace", "host/internal/clock", "host/internal/definition", "host/internal/layout", "host/internal/protocol", "host/internal/runner"}, why: "it writes rows of a job that nobody runs; who asks for that is above"},

	{pkg: "host", may: []string{"strategy", "host/runlog", "host/job", "host/reason", "host/registry", "host/registry/embedded", "host/trace", "host/trace/sqltrace",
		"host/internal/admission", "host/internal/assign", "host/internal/backoff", "host/internal/clock", "host/internal/definition", "host/internal/dump", "host/internal/finder", "host/internal/outputs", "host/internal/protocol", "host/internal/follow", "host/internal/layout", "host/internal/layout/clustertree", "host/internal/layout/spelling", "host/internal/lockfile", "host/internal/schedule", "host/internal/sandbox", "host/internal/module", "host/internal/outbound", "host/internal/peer", "host/internal/reach", "host/internal/native", "host/internal/runner", "host/internal/session", "host/internal/signature", "host/internal/status", "host/internal/missed", "host/internal/supply", "host/internal/workers"},
		libs: []string{"golang.org/x/sync"}, tests: []string{"host/internal/native/nativetest", "host/registry/registrytest", "host/registry/tree", "host/registry/zk", "host/registry/zk/zktest", "modernc.org/sqlite"},
		why: "the place where parts are joined; it imports everything below it"},
	{pkg: "host/guest", may: []string{"abi", "abi/conformance", "host", "host/job", "host/internal/lockfile", "host/internal/module", "host/internal/outbound", "host/internal/sandbox"},
		why: "one module without a server: it has errors in common with a host, and nothing that joins a registry"},
	{pkg: "host/internal/javatest", may: []string{"host/internal/layout", "host/internal/layout/v21", "host/job", "host/registry"}, why: "it writes what members of ElasticJob write, for tests alone"},
	{pkg: "host/operator", may: []string{"host/runlog", "internal/nearest", "host", "host/guest", "host/internal/admission", "host/internal/assign", "host/internal/backoff", "host/internal/clock", "host/internal/dump", "host/internal/definition", "host/internal/layout", "host/internal/layout/clustertree", "host/internal/layout/migration", "host/internal/layout/spelling", "host/internal/follow", "host/internal/module", "host/internal/peer", "host/internal/protocol", "host/internal/removal", "host/internal/schedule", "host/internal/session", "host/internal/signature", "host/internal/status", "host/internal/missed", "host/job", "host/reason", "host/registry", "host/trace"},
		libs: []string{"golang.org/x/sync"}, tests: []string{"host/internal/javatest", "host/registry/embedded", "host/registry/registrytest", "host/registry/zk", "host/registry/zk/zktest"},
		why: "it reads and writes the registry; it joins nothing and runs nothing"},
	{pkg: "host/shadow", may: []string{"host", "host/operator", "host/internal/admission", "host/internal/assign", "host/internal/backoff", "host/internal/clock", "host/internal/definition", "host/internal/layout", "host/internal/follow", "host/internal/outputs", "host/internal/protocol", "host/internal/schedule", "host/internal/session", "host/job", "host/reason", "host/registry", "host/trace"},
		libs: []string{"golang.org/x/sync"}, tests: []string{"host/internal/javatest", "host/registry/embedded", "host/registry/registrytest", "host/registry/zk", "host/registry/zk/zktest"},
		why: "it follows jobs as a host does, and joins none"},
	{pkg: "host/internal/cluster", may: []string{"host", "host/operator", "host/job", "host/reason", "host/registry", "host/registry/zk", "host/registry/zk/zktest", "host/trace", "host/internal/protocol", "host/internal/layout", "host/internal/layout/clustertree", "host/internal/follow"},
		tests: []string{"strategy", "github.com/go-zookeeper/zk"},
		why:   "hosts on a real service, for tests alone"},
	{pkg: "host/config", may: []string{"internal/nearest", "internal/oci", "abi/conformance", "host", "host/job", "host/reason", "host/internal/layout", "host/internal/layout/clustertree", "host/internal/outbound", "host/internal/schedule", "host/internal/signature", "strategy"}, libs: []string{"github.com/BurntSushi/toml"},
		why: "text to options; it starts nothing"},

	{pkg: "host/metrics", may: []string{"host", "host/reason", "host/trace"}, libs: []string{"github.com/prometheus/client_golang"},
		tests: []string{"host/job", "host/registry", "host/registry/embedded", "github.com/prometheus/client_model", "github.com/prometheus/common"},
		why:   "it adds up what a host reports; who may ask for it is decided above"},
	{pkg: "host/telemetry", may: []string{"host", "host/reason", "host/trace"}, libs: []string{"go.opentelemetry.io/otel"},
		tests: []string{"host/job", "go.opentelemetry.io/proto", "google.golang.org/protobuf"},
		why:   "it sends what a host reports; the environment says where"},
	{pkg: "host/alert", may: []string{"host", "host/operator", "host/internal/backoff", "host/internal/layout/clustertree", "host/internal/schedule", "host/internal/session", "host/job", "host/reason", "host/registry", "host/trace"},
		libs: []string{"github.com/wneessen/go-mail"}, tests: []string{"host/registry/embedded", "github.com/emersion/go-smtp", "github.com/emersion/go-sasl"},
		why: "it makes alerts of what a host reports; what a run is, and who may see it, is decided elsewhere"},
	{pkg: "host/admin", may: []string{"internal/connections", "host/runlog", "host", "host/internal/backoff", "host/guest", "host/operator", "host/job", "host/reason", "host/registry", "host/trace"}, tests: []string{"internal/signaturetest", "internal/smalldisk", "host/registry/embedded", "github.com/santhosh-tekuri/jsonschema"},
		why: "a request becomes a call of an Operator; what that does is decided below"},

	{pkg: "cmd/wasmjobd/internal/scaffold", why: "it writes files for authors; what they say is theirs"},
	{pkg: "cmd/wasmjobd", may: []string{"host/runlog", "internal/nearest", "internal/oci", "internal/queue", "cmd/wasmjobd/internal/scaffold", "abi", "abi/conformance", "strategy", "host", "host/admin", "host/alert", "host/guest", "host/operator", "host/shadow", "host/job", "host/reason", "host/config", "host/registry", "host/registry/embedded", "host/registry/zk", "host/trace", "host/trace/sqltrace", "host/metrics", "host/telemetry"},
		libs:  []string{"github.com/go-sql-driver/mysql", "github.com/jackc/pgx/v5", "github.com/spf13/cobra", "github.com/spf13/pflag", "modernc.org/sqlite", "golang.org/x/sys"},
		tests: []string{"github.com/rogpeppe/go-internal", "internal/signaturetest", "host/trace/sqltrace/sqltest", "host/registry/zk/zktest", "internal/smalldisk"},
		why:   "flags, wiring and printing; decisions are below"},

	{pkg: "test/faults/evidence", may: []string{"host/job", "host/reason", "host/trace"}, why: "it judges what was told and stored; who ran it is not its business"},
	{pkg: "test/faults", tests: []string{"test/faults/evidence", "host/job", "host/reason", "host/trace", "host/registry/zk/zktest"}, why: "it runs the built program, and knows nothing of what is in it"},
	{pkg: "test/record", tests: []string{"host/registry/zk/zktest"}, why: "it runs members of ElasticJob, and none of ours"},
	{pkg: "test/interop/check", may: []string{"host/job", "test/faults/evidence"}, why: "it checks what was reported; which program ran it does not matter"},
	{pkg: "test/interop", tests: []string{"test/faults/evidence", "test/interop/check", "host/registry", "host/registry/zk", "host/registry/zk/zktest"},
		why: "it runs the built program and Java members, and knows nothing of what is in them"},
}

// adapters connect a technology to a port; they must not depend on each other.
var adapters = []string{"host/registry/zk", "host/registry/embedded", "host/trace/sqltrace", "host/internal/sandbox", "host/admin"}

// above are the packages in the folder host that depend on package host: its users, and
// the packages that start it for tests.
var above = []string{"host/admin", "host/alert", "host/config", "host/guest", "host/internal/cluster", "host/metrics", "host/operator", "host/shadow", "host/telemetry"}

func TestLayers(t *testing.T) {
	t.Parallel()
	p := tree(t)
	rows := make(map[string]layer, len(layers))
	for _, l := range layers {
		rows[l.pkg] = l
		if !p.has(l.pkg) {
			t.Logf("listed and not there: %s", l.pkg)
		}
	}
	for _, f := range p.main() {
		row, ok := rows[f.rel]
		if !ok {
			t.Errorf("%s has no row in the table of layers: say what it may import and why", f.rel)
			continue
		}
		for _, s := range f.files {
			for _, spec := range s.imports() {
				if why := refuse(row, importPath(spec), s.test); why != "" {
					t.Errorf("%s: %s", p.at(spec), why)
				}
			}
		}
	}
}

// refuse returns the reason why a package may not import imp, or "" if it may.
func refuse(l layer, imp string, test bool) string {
	name, own := ours(imp)
	if own {
		if name == l.pkg && test || slices.Contains(l.may, name) || test && (slices.Contains(l.tests, name) || slices.Contains(testPackages, name)) {
			return ""
		}
		return fmt.Sprintf("%s may not import %s: %s", l.pkg, name, l.why)
	}
	if std(imp) {
		if slices.Contains(pureFolders, l.pkg) && !test && !slices.Contains(pureStd, imp) && !slices.Contains(pureExtra[l.pkg], imp) {
			return fmt.Sprintf("%s may not import %s: it is pure", l.pkg, imp)
		}
		return ""
	}
	allowed := l.libs
	if test {
		allowed = slices.Concat(l.libs, l.tests, testLibs)
	}
	if slices.ContainsFunc(allowed, func(lib string) bool { return within(imp, lib) }) {
		return ""
	}
	return fmt.Sprintf("%s may not import %s: a library has one importer, or none", l.pkg, imp)
}

func TestLayersRefuse(t *testing.T) {
	t.Parallel()
	row := layer{pkg: "host/internal/protocol", may: []string{"host/job", "host/reason"}, libs: []string{"example.org/lib"}, tests: []string{"strategy", "example.org/probe"}, why: "reason"}
	for _, c := range []struct {
		imp  string
		test bool
		ok   bool
	}{
		{imp: modulePath + "/host/job", ok: true},
		{imp: modulePath + "/host/registry"},
		{imp: modulePath + "/host/jobs"},
		{imp: modulePath + "/strategy"},
		{imp: modulePath + "/strategy", test: true, ok: true},
		{imp: modulePath + "/host/internal/protocol", test: true, ok: true},
		{imp: modulePath + "/host", test: true},
		{imp: "example.org/lib/sub", ok: true},
		{imp: "example.org/library"},
		{imp: "example.org/probe"},
		{imp: "example.org/probe", test: true, ok: true},
		{imp: "github.com/google/go-cmp/cmp", test: true, ok: true},
		{imp: "github.com/google/go-cmp/cmp"},
		{imp: "slices", ok: true},
		{imp: "os"},
		{imp: "os", test: true, ok: true},
	} {
		if got := refuse(row, c.imp, c.test) == ""; got != c.ok {
			t.Errorf("import of %s (test: %v) allowed: %v, want %v", c.imp, c.test, got, c.ok)
		}
	}
}

// TestTable checks the table itself: no row may allow what the overall structure forbids.
func TestTable(t *testing.T) {
	t.Parallel()
	for _, why := range tableFaults(layers) {
		t.Error(why)
	}
	bad := []layer{
		{pkg: "host/registry/embedded", may: []string{"host/trace/sqltrace"}},
		{pkg: "host/internal/runner", may: []string{"host"}},
		{pkg: "host", may: []string{"cmd/wasmjobd"}},
		{pkg: "host", may: []string{"host/operator"}},
		{pkg: "host/internal/dump", may: []string{"host/operator"}},
		{pkg: "host/internal/assign", may: []string{"host"}},
		{pkg: "host/internal/schedule", may: []string{"host/internal/sandbox"}},
	}
	for _, l := range bad {
		if len(tableFaults([]layer{l})) == 0 {
			t.Errorf("a row that lets %s import %s was not noticed", l.pkg, l.may)
		}
	}
}

func tableFaults(rows []layer) []string {
	var faults []string
	tiles := []string{"host/internal/schedule", "host/internal/sandbox", "host/internal/module"}
	for _, l := range rows {
		for _, m := range l.may {
			switch {
			case m == "cmd/wasmjobd":
				faults = append(faults, l.pkg+" may import cmd/wasmjobd, which nobody imports")
			case m == "host" && strings.HasPrefix(l.pkg, "host/") && !slices.Contains(above, l.pkg):
				faults = append(faults, l.pkg+" may import host: the arrow points upward")
			case slices.Contains(above, m) && (l.pkg == "host" || within(l.pkg, "host/internal") && !slices.Contains(above, l.pkg)):
				faults = append(faults, l.pkg+" may import "+m+": that stands above host")
			case slices.Contains(adapters, l.pkg) && slices.Contains(adapters, m):
				faults = append(faults, l.pkg+" may import "+m+": adapters never meet")
			case slices.Contains(tiles, l.pkg) && (slices.Contains(tiles, m) || m == "host/internal/protocol"):
				faults = append(faults, l.pkg+" may import "+m+": these three know only job and abi")
			}
		}
	}
	return faults
}

// TestGuests checks that SDKs and examples are modules of their own that do not depend on
// the host. Other nested modules are benchmarks against rivals that the main module must
// not depend on: they contain only tests.
func TestGuests(t *testing.T) {
	t.Parallel()
	p := tree(t)
	sdk := modulePath + "/abi/go"
	for _, f := range p.folders {
		if f.guest == "" {
			continue
		}
		bench := within(f.guest, "host")
		for _, s := range f.files {
			if bench && !s.test {
				t.Errorf("%s: a module below host has tests alone", s.rel)
			}
			for _, spec := range s.imports() {
				imp := importPath(spec)
				switch {
				case bench, std(imp), within(imp, modulePath+"/"+f.guest):
				case f.guest != "abi/go" && within(imp, sdk):
				default:
					t.Errorf("%s: %s may not import %s: a guest needs the standard library and the SDK, nothing else", p.at(spec), f.rel, imp)
				}
			}
		}
	}
}
