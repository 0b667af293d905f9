package job

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host/reason"
)

const (
	// MaxShards is the largest sharding total count of a job.
	MaxShards = 100_000
	// MaxName is the longest name of a job, in bytes.
	MaxName = 200
	// MaxText is the longest text that a Config carries to the registry, in
	// bytes. All of them together share a node of one MiB.
	MaxText = 256 << 10
	// MaxBatch is how many elements a batch of a dataflow job holds.
	MaxBatch = 100_000
	// MaxConcurrency is in how many parts a batch is processed at once.
	MaxConcurrency = 256
	// MaxState is the most that the values of one item occupy with their keys,
	// in bytes.
	MaxState = 256 << 10
	// MaxPool is the largest number of instances that a job keeps warm.
	MaxPool = 1_000
	// MaxCatchUp is how many of the instants that an item missed while no server was
	// there begin late at most.
	MaxCatchUp = 100
	// MaxHTTPCalls is the largest limit of requests of one run.
	MaxHTTPCalls = 1_000_000
	// MaxHTTPBody is the largest limit of one body, in bytes.
	MaxHTTPBody = 1 << 30
	// MaxOpenFiles is the largest limit of files that a run has open.
	MaxOpenFiles = 10_000
	// maxArgs is how many arguments a script has.
	maxArgs = 1_000
)

// Layout21 is the registry layout of ElasticJob-Lite 2.1, the only one that
// this release speaks.
const Layout21 = "2.1"

// FieldError is one fault of a Config.
type FieldError struct {
	Field string // as jobs.toml spells it
	Why   reason.Reason
}

// Error is one line: field, fault and hint.
func (e *FieldError) Error() string {
	text := e.Field + ": " + e.Why.String()
	if hint := e.Why.Hint(); hint != "" {
		text += " (" + hint + ")"
	}
	return text
}

// Validate returns every fault of the configuration that can be told without
// looking elsewhere, as *FieldErrors in one errors.Join. Whether the cron, the
// time zone, the strategy and the module exist is checked by their packages.
func (c Config) Validate() error {
	var f faults
	f.name(c.Name)
	f.oneOf("kind", string(c.Kind), string(Simple), string(Dataflow), string(Script))
	f.oneOf("dialect", c.Dialect, "", "quartz", "unix")
	f.between("shards", c.Shards, 1, MaxShards)
	if _, err := ParseItemParams(c.ItemParams); err != nil {
		f.add("item_params", reason.Of(reason.ItemParamsUnreadable, err.Error()))
	}
	f.text("cron", c.Cron)
	f.text("item_params", c.ItemParams)
	f.text("param", c.Param)
	f.text("description", c.Description)
	f.text("strategy", c.Strategy)
	f.text("class", c.Class)
	f.digest("module", c.ModuleDigest)
	f.digest("strategy_module", c.StrategyDigest)

	f.oneOf("overlap", string(c.Overlap), string(Skip), string(QueueOne), string(Replace))
	f.catchUp(&c)
	f.oneOf("on_registry_loss", string(c.OnRegistryLoss), string(CancelOnLoss), string(FinishOnLoss))
	f.oneOf("layout", c.Layout, Layout21)
	if c.MaxClockSkew >= 0 { // negative is off
		f.whole("max_clock_skew", c.MaxClockSkew, time.Second)
	}
	f.whole("reconcile_every", c.ReconcileEvery, time.Minute)
	f.notNegative("timeout", int64(c.Timeout))
	f.notNegative("parallel", int64(c.Parallel))
	f.retry(c.Retry)
	f.between("monitor_port", c.MonitorPort, 0, 65535)
	f.oneOf("strategy_error", string(c.OnStrategyError), "", string(DealAverage), string(KeepOld))
	f.ofKind(&c)
	f.limits(c.Limits)
	f.allow(c.Allow)
	if c.Command != "" {
		f.unsandboxed(&c)
	}
	return errors.Join(f...)
}

// MaxAttempts is how often a run can be made.
const MaxAttempts = 100

func (f *faults) retry(r Retry) {
	f.between("retry.attempts", r.Attempts, 0, MaxAttempts)
	f.notNegative("retry.backoff", int64(r.Backoff))
	f.notNegative("retry.max_backoff", int64(r.MaxBackoff))
	if r.MaxBackoff > 0 && r.MaxBackoff < r.Backoff {
		f.add("retry.max_backoff", reason.Of(reason.BackoffAboveMax, r.MaxBackoff.String(), r.Backoff.String()))
	}
}

// catchUp refuses what cannot be: ElasticJob writes nowhere which instants it ran, and
// what replaces the run before it leaves none that could come one after the other.
func (f *faults) catchUp(c *Config) {
	f.oneOf("catch_up", string(c.CatchUp), string(CatchUpNone), string(CatchUpLast), string(CatchUpAll))
	if c.CatchUp == CatchUpNone {
		return
	}
	if c.Class != "" {
		f.add("catch_up", reason.Of(reason.CatchUpOfClass, strconv.Quote(string(c.CatchUp))))
	}
	if c.CatchUp == CatchUpAll && c.Overlap == Replace && !c.Misfire {
		f.add("catch_up", reason.Of(reason.CatchUpReplaced))
	}
}

type faults []error

func (f *faults) add(field string, why reason.Reason) {
	*f = append(*f, &FieldError{field, why})
}

func (f *faults) name(name string) {
	switch {
	case name == "":
		f.add("name", reason.Of(reason.NameEmpty))
	case len(name) > MaxName:
		f.add("name", reason.Of(reason.NameTooLong, strconv.Itoa(len(name)), strconv.Itoa(MaxName)))
	case strings.Contains(name, Delimiter):
		f.add("name", reason.Of(reason.NameDelimited, strconv.Quote(name), strconv.Quote(Delimiter)))
	default:
		if fault := nodeNameFault(name); fault != "" {
			f.add("name", reason.Of(reason.NameUnusable, quote(name), fault))
		}
	}
}

// nodeNameFault says why name can't be the name of a node, or "".
func nodeNameFault(name string) string {
	switch {
	case name == "." || name == "..":
		return "is a relative path"
	case strings.Contains(name, "/"):
		return "contains a slash"
	case !utf8.ValidString(name):
		return "is not UTF-8"
	}
	for _, r := range name {
		// Besides control characters, ZooKeeper refuses the private use area
		// and all from the end of the basic plane on.
		if unicode.IsControl(r) || r >= 0xe000 && r <= 0xf8ff || r >= 0xfff0 {
			return fmt.Sprintf("contains the character %U, which a registry can't name", r)
		}
	}
	return ""
}

func (f *faults) oneOf(field, got string, known ...string) {
	if slices.Contains(known, got) {
		return
	}
	if known[0] == "" {
		known = known[1:]
	}
	f.add(field, reason.Of(reason.WordNotOneOf, quote(got), strings.Join(known, " or ")))
}

func (f *faults) text(field, s string) {
	if len(s) > MaxText {
		f.add(field, reason.Of(reason.TooLong, strconv.Itoa(len(s)), strconv.Itoa(MaxText)))
	}
	if !utf8.ValidString(s) {
		f.add(field, reason.Of(reason.NotUTF8))
	}
}

func (f *faults) digest(field, s string) {
	if s != "" && (len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "") {
		f.add(field, reason.Of(reason.DigestInvalid, quote(s)))
	}
}

func (f *faults) notNegative(field string, n int64) {
	if n < 0 {
		f.add(field, reason.Of(reason.Negative))
	}
}

// whole checks a duration that the registry stores as a 32-bit number of
// units.
func (f *faults) whole(field string, d, unit time.Duration) {
	switch {
	case d < 0:
		f.notNegative(field, int64(d))
	case d/unit >= math.MaxInt32:
		f.add(field, reason.Of(reason.DurationBeyond, d.String()))
	case d%unit != 0:
		f.add(field, reason.Of(reason.DurationUneven, d.String(), unit.String(), (d.Truncate(unit)+unit).String()))
	}
}

// ofKind checks what only some kinds of jobs have.
func (f *faults) ofKind(c *Config) {
	only := func(field string, set bool, kind Kind) {
		if set && c.Kind != kind {
			f.add(field, reason.Of(reason.KeyOfOtherKind, string(kind), strconv.Quote(string(kind))))
		}
	}
	only("streaming", c.Streaming, Dataflow)
	only("fetch_count", c.FetchCount != 0, Dataflow)
	only("concurrency", c.Concurrency != 0, Dataflow)
	only("args", len(c.Args) > 0, Script)
	only("command", c.Command != "", Script)
	f.upTo("fetch_count", int64(c.FetchCount), MaxBatch)
	f.upTo("concurrency", int64(c.Concurrency), MaxConcurrency)
	if c.Command != "" {
		f.text("command", c.Command)
		if _, err := SplitCommand(c.Command); err != nil {
			f.add("command", reason.Of(reason.CommandUnreadable, err.Error()))
		}
		if c.Module != "" {
			f.add("command", reason.Of(reason.CommandAndModule))
		}
		if len(c.Args) > 0 {
			f.add("args", reason.Of(reason.CommandAndArgs))
		}
	}
	if len(c.Args) > maxArgs {
		f.add("args", reason.Of(reason.TooManyElements, strconv.Itoa(len(c.Args)), strconv.Itoa(maxArgs)))
	}
	size := 0
	for i, arg := range c.Args {
		if size += len(arg); strings.ContainsRune(arg, 0) || !utf8.ValidString(arg) {
			f.add(fmt.Sprintf("args[%d]", i), reason.Of(reason.ArgUnusable))
		}
	}
	if size > MaxText {
		f.add("args", reason.Of(reason.TooLong, strconv.Itoa(size), strconv.Itoa(MaxText)))
	}
}

// unsandboxed refuses for a command of the operating system what only a sandbox
// could hold it to.
func (f *faults) unsandboxed(c *Config) {
	a, l := c.Allow, c.Limits
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"allow.dirs", len(a.Dirs) > 0},
		{"allow.clock", a.Clock != ""},
		{"allow.random", a.Random},
		{"allow.state", a.State},
		{"allow.secrets", len(a.Secrets) > 0},
		{"allow.http", len(a.HTTP) > 0},
		{"limits.memory", l.Memory != 0},
		{"limits.fuel", l.Fuel != 0},
		{"limits.batch", l.Batch != 0},
		{"limits.state_value", l.StateValue != 0},
		{"limits.http_calls", l.HTTPCalls != 0},
		{"limits.http_body", l.HTTPBody != 0},
		{"limits.open_files", l.OpenFiles != 0},
		{"limits.instance", l.Pool != Pool{}},
	} {
		if field.set {
			f.add(field.name, reason.Of(reason.KeyOfSandbox))
		}
	}
}

func (f *faults) between(field string, n, least, most int) {
	if n < least || n > most {
		f.add(field, reason.Of(reason.NotInRange, strconv.Itoa(n), strconv.Itoa(least), strconv.Itoa(most)))
	}
}

func (f *faults) upTo(field string, n, most int64) {
	f.notNegative(field, n)
	if n > most {
		f.add(field, reason.Of(reason.TooMuch, strconv.FormatInt(n, 10), strconv.FormatInt(most, 10)))
	}
}

func (f *faults) limits(l Limits) {
	f.notNegative("limits.memory", l.Memory)
	if l.Memory > 4<<30 {
		f.add("limits.memory", reason.Of(reason.MemoryTooMuch))
	}
	f.notNegative("limits.result", l.Result)
	f.notNegative("limits.log_line", l.LogLine)
	f.notNegative("limits.log_rate", int64(l.LogRate))
	f.notNegative("limits.fuel", l.Fuel)
	f.notNegative("limits.grace", int64(l.Grace))
	f.notNegative("limits.batch", l.Batch)
	f.upTo("limits.state_value", l.StateValue, MaxState)
	f.upTo("limits.http_calls", int64(l.HTTPCalls), MaxHTTPCalls)
	f.upTo("limits.http_body", l.HTTPBody, MaxHTTPBody)
	f.upTo("limits.open_files", int64(l.OpenFiles), MaxOpenFiles)
	f.upTo("limits.instance", int64(l.Pool.Size), MaxPool)
	f.notNegative("limits.instance", int64(l.Pool.MaxUses))
	if l.Pool.MaxUses > 0 && l.Pool.Size == 0 {
		f.add("limits.instance", reason.Of(reason.PoolUsesAlone))
	}
}

func (f *faults) allow(a Allow) {
	seen := make(map[string]bool)
	for i, d := range a.Dirs {
		field := fmt.Sprintf("allow.dirs[%d]", i)
		switch {
		case !path.IsAbs(d.Guest):
			f.add(field, reason.Of(reason.GuestPathRelative, quote(d.Guest), "/"+d.Guest))
		case path.Clean(d.Guest) != d.Guest:
			f.add(field, reason.Of(reason.GuestPathUnclean, quote(d.Guest), path.Clean(d.Guest)))
		case seen[d.Guest]:
			f.add(field, reason.Of(reason.GuestPathTwice, quote(d.Guest)))
		}
		seen[d.Guest] = true
		if d.Host == "" {
			f.add(field, reason.Of(reason.DirEmpty))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(a.Env[name], "\x00") {
			f.add("allow.env", reason.Of(reason.EnvInvalid, quote(name)))
		}
		if strings.HasPrefix(name, VariablePrefix) {
			f.add("allow.env", reason.Of(reason.EnvReserved, quote(name), VariablePrefix))
		}
	}
	f.oneOf("allow.clock", a.Clock, "", "fixed", "real")
	seen = make(map[string]bool)
	for i, name := range a.Secrets {
		field := fmt.Sprintf("allow.secrets[%d]", i)
		switch {
		case name == "" || len(name) > MaxName || !utf8.ValidString(name):
			f.add(field, reason.Of(reason.SecretNameInvalid, quote(name)))
		case seen[name]:
			f.add(field, reason.Of(reason.SecretTwice, quote(name)))
		}
		seen[name] = true
	}
}
