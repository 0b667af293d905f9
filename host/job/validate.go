package job

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host/reason"
)

const (
	// MaxShards is the largest total of a job.
	MaxShards = 100_000
	// MaxNotify is the largest number of notifiers of a job.
	MaxNotify = 8
	// MaxAfter is the largest number of jobs in after.
	MaxAfter = 16
	// MaxName is the longest name of a job, in bytes.
	MaxName = 200
	// MaxText is the longest text of a Config that the registry stores, in bytes. All of them
	// share a node of one MiB.
	MaxText = 256 << 10
	// MaxBatch is the largest number of elements in a batch of a dataflow job.
	MaxBatch = 100_000
	// MaxConcurrency is the largest number of parts of a batch that are processed at once.
	MaxConcurrency = 256
	// MaxState is the largest size of one item's values with their keys, in bytes.
	MaxState = 256 << 10
	// MaxPool is the largest number of instances that a job keeps warm.
	MaxPool = 1_000
	// MaxCatchUp is the largest number of instants of an item that begin late after no server
	// was there.
	MaxCatchUp = 100
	// MaxHTTPCalls is the largest limit of requests of one run.
	MaxHTTPCalls = 1_000_000
	// MaxHTTPBody is the largest limit of one body, in bytes.
	MaxHTTPBody = 1 << 30
	// MaxAttempts is the largest number of attempts of a run.
	MaxAttempts = 100
	// MaxOpenFiles is the largest limit of files that a run has open.
	MaxOpenFiles = 10_000
	// maxArgs is the largest number of arguments of a script.
	maxArgs = 1_000
)

// The registry layouts of this release: those of ElasticJob-Lite 1, 2.0, 2.1 and 3.
const (
	Layout1  = "1"
	Layout20 = "2.0"
	Layout21 = "2.1"
	Layout3  = "3"
)

// FieldError is one fault of a Config.
type FieldError struct {
	Field string // the setting, as jobs.toml spells it
	Why   reason.Reason
}

// Error returns field, fault and hint in one line.
func (e *FieldError) Error() string {
	text := e.Field + ": " + e.Why.String()
	if hint := e.Why.Hint(); hint != "" {
		text += " (" + hint + ")"
	}
	return text
}

// Validate returns every fault that the configuration alone shows, as *FieldErrors in one
// errors.Join. Whether the cron, the time zone, the strategy and the module exist is checked by
// their packages.
func (c Config) Validate() error {
	var f faults
	f.name(c.Name)
	for _, setting := range settings {
		f.setting(&setting, &c)
	}
	if _, err := ParseItemParams(c.ItemParams); err != nil {
		f.add("item_params", reason.Of(reason.ItemParamsUnreadable, err.Error()))
	}
	f.digest("module", c.ModuleDigest)
	f.digest("strategy_module", c.StrategyDigest)
	f.catchUp(&c)
	f.timing(&c)
	f.after(&c)
	if r := c.Retry; r.MaxBackoff > 0 && r.MaxBackoff < r.Backoff {
		f.add("retry.max_backoff", reason.Of(reason.BackoffAboveMax, r.MaxBackoff.String(), r.Backoff.String()))
	}
	f.upTo("notify", int64(len(c.Notify)), MaxNotify)
	f.run(&c)
	f.allow(c.Allow)
	return errors.Join(f...)
}

// setting checks one setting by its row of the table. A setting that is not set has no fault,
// unless it must be set.
func (f *faults) setting(s *Setting, c *Config) {
	v := reflect.ValueOf(s.Field(c)).Elem()
	if set := !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0); !set && !s.Must {
		return
	}
	if why := s.Misplaced(c.Kind, c.Command != ""); !why.None() {
		f.add(s.Name, why)
		return
	}
	switch s.Type {
	case Text, Items:
		f.text(s.Name, v.String())
	case Word:
		f.oneOf(s.Name, v.String(), s.Words...)
	case Number, Size:
		f.number(s, v.Int())
	case Duration:
		f.duration(s, time.Duration(v.Int()))
	case Instances:
		f.pool(s.Name, v.Interface().(Pool))
	case Flag, List, Texts:
	}
}

// number checks a number or a size. One that must be set has its minimum too; others may be 0.
func (f *faults) number(s *Setting, n int64) {
	switch {
	case s.Must && (n < s.Min || n > s.Max):
		f.add(s.Name, reason.Of(reason.NotInRange, strconv.FormatInt(n, 10), strconv.FormatInt(s.Min, 10), strconv.FormatInt(s.Max, 10)))
	case s.Type == Size && n > s.Max:
		f.add(s.Name, reason.Of(reason.TooMuch, FormatSize(n), FormatSize(s.Max)))
	default:
		f.upTo(s.Name, n, s.Max)
	}
}

// duration checks a duration that is not 0. The registry stores those with a unit as a 32-bit
// number.
func (f *faults) duration(s *Setting, d time.Duration) {
	switch {
	case d < 0 && s.Negative: // stands for none
	case d < 0:
		f.notNegative(s.Name, int64(d))
	case s.Unit == 0:
	case d/s.Unit >= math.MaxInt32:
		f.add(s.Name, reason.Of(reason.DurationBeyond, d.String()))
	case d%s.Unit != 0:
		f.add(s.Name, reason.Of(reason.DurationUneven, d.String(), s.Unit.String(), (d.Truncate(s.Unit)+s.Unit).String()))
	}
}

// pool checks the sizes of a pool.
func (f *faults) pool(field string, p Pool) {
	f.upTo(field, int64(p.Size), MaxPool)
	f.notNegative(field, int64(p.MaxUses))
	if p.MaxUses > 0 && p.Size == 0 {
		f.add(field, reason.Of(reason.PoolUsesAlone))
	}
}

// FormatSize writes a number of bytes in the largest unit of which it is a multiple.
func FormatSize(n int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// catchUp checks combinations with catch_up: ElasticJob does not record which instants it ran,
// and with overlap = "replace" each instant would end the run that catches up.
func (f *faults) catchUp(c *Config) {
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

// after checks the jobs that this job runs after.
func (f *faults) after(c *Config) {
	f.upTo("after", int64(len(c.After)), MaxAfter)
	seen := map[string]bool{c.Name: true}
	for i, name := range c.After {
		var wrong faults
		if wrong.name(name); len(wrong) > 0 || seen[name] {
			f.add("after["+strconv.Itoa(i)+"]", reason.Of(reason.AfterInvalid, quote(name)))
		}
		seen[name] = true
	}
	if len(c.After) > 0 && c.Class != "" {
		f.add("after", reason.Of(reason.AfterOfClass))
	}
}

// faults are what Validate has found.
type faults []error

// add adds a fault of a setting.
func (f *faults) add(field string, why reason.Reason) {
	*f = append(*f, &FieldError{field, why})
}

// name checks the name of a job, which becomes the name of a node and a part of task ids.
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

// nodeNameFault returns why name cannot be the name of a node, or "".
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
		// Besides control characters, ZooKeeper refuses the private use area and the end of the
		// basic plane.
		if unicode.IsControl(r) || r >= 0xe000 && r <= 0xf8ff || r >= 0xfff0 {
			return fmt.Sprintf("contains the character %U, which a registry can't name", r)
		}
	}
	return ""
}

// oneOf checks that got is one of the known words.
func (f *faults) oneOf(field, got string, known ...string) {
	if slices.Contains(known, got) {
		return
	}
	f.add(field, reason.Of(reason.WordNotOneOf, quote(got), strings.Join(known, " or ")))
}

// text checks a text that the registry stores.
func (f *faults) text(field, s string) {
	if len(s) > MaxText {
		f.add(field, reason.Of(reason.TooLong, strconv.Itoa(len(s)), strconv.Itoa(MaxText)))
	}
	if !utf8.ValidString(s) {
		f.add(field, reason.Of(reason.NotUTF8))
	}
}

// digest checks the SHA-256 of a module, in lower-case hex, if there is one.
func (f *faults) digest(field, s string) {
	if s != "" && (len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "") {
		f.add(field, reason.Of(reason.DigestInvalid, quote(s)))
	}
}

// notNegative checks that a number is not below 0.
func (f *faults) notNegative(field string, n int64) {
	if n < 0 {
		f.add(field, reason.Of(reason.Negative))
	}
}

// run checks the module or command of a job, and its arguments.
func (f *faults) run(c *Config) {
	if c.Command != "" {
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

// upTo checks that a number is from 0 to most.
func (f *faults) upTo(field string, n, most int64) {
	f.notNegative(field, n)
	if n > most {
		f.add(field, reason.Of(reason.TooMuch, strconv.FormatInt(n, 10), strconv.FormatInt(most, 10)))
	}
}

// allow checks the grants for directories, variables and secrets, as far as the configuration
// alone shows faults.
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
