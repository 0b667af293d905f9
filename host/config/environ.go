package config

import (
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/reason"
)

// envPrefix begins the names of variables that set keys of the file.
const envPrefix = "WASMJOBD_"

// environment maps the names of variables to their values.
type environment map[string]string

// newEnvironment reads a list in the form of os.Environ. If a variable occurs twice, the last
// one counts.
func newEnvironment(list []string) environment {
	e := make(environment, len(list))
	for _, entry := range list {
		if name, value, ok := strings.Cut(entry, "="); ok {
			e[name] = value
		}
	}
	return e
}

// lookup returns the value of a variable, and whether it is set.
func (e environment) lookup(name string) (string, bool) {
	value, ok := e[name]
	return value, ok
}

// overlay applies variables such as WASMJOBD_SERVER__DATA_DIR, which sets server.data_dir: two
// underscores stand for the dot. It ignores variables with the prefix but without two
// underscores. A variable sets one key of a job or module that a file defines; it cannot define
// one.
func (r *reader) overlay() {
	for _, name := range sortedNames(r.env) {
		rest, ours := strings.CutPrefix(name, envPrefix)
		if !ours || !strings.Contains(rest, "__") {
			continue
		}
		r.overlayOne(name, strings.Split(strings.ToLower(rest), "__"))
	}
}

// overlayOne sets the key that the parts of a variable's name lead to, or reports why the
// variable cannot set it. Variable names have no hyphens and dots, so a part may stand for
// several of the jobs or modules that the files define.
func (r *reader) overlayOne(variable string, parts []string) {
	at := place{file: variable}
	r.order[variable] = len(r.order) // its problems come after those of the files
	n, path := r.schema, ""
	for _, part := range parts {
		meant := []string{part}
		if n.free() {
			meant = r.defined(path, part)
			part = meant[0]
		}
		child := n.child(part)
		full := joinKey(path, part)
		switch {
		case len(meant) > 1:
			r.report(at.problem(full, reason.Of(reason.VariableAmbiguous, quoted(meant))))
			return
		case n.children == nil: // the name goes on below a key
			r.unset(at, path, n.key)
			return
		case child == nil:
			r.report(at.problem(full, unknownKey(n, path, part)))
			return
		case n.free() && r.named[full] == place{}:
			if !r.broken { // otherwise the file that could not be read may define it
				r.report(at.problem(full, reason.Of(reason.VariableDefinesNothing)))
			}
			return
		}
		n, path = child, full
	}
	k := n.key
	switch {
	case n.children != nil:
		r.report(at.problem(path, reason.Of(reason.VariableOfTable)))
		return
	case k.release != "", k.takes == texts:
		r.unset(at, path, k)
		return
	case path == "include", path == "schema":
		r.report(at.problem(path, reason.Of(reason.VariableOfFileKey)))
		return
	}
	// Dollar signs in the value have no special meaning.
	is, ok := convert(k, fromText(k, r.env[variable]), nil, func(sub string, why reason.Reason) {
		r.report(at.problem(path+sub, why))
	})
	r.values[path] = value{is: is, at: at, refused: !ok}
}

// unset reports why no variable can set the key k at path, or a part of its value. at names the
// variable.
func (r *reader) unset(at place, path string, k key) {
	switch {
	case k.release != "":
		r.report(at.problem(path, reason.Of(reason.KeyNotServed, k.release)))
	case k.takes == texts:
		r.report(at.problem(path, reason.Of(reason.VariableForTable)))
	default:
		r.report(at.problem(path, reason.Of(reason.VariableTooLong)))
	}
}

// defined returns the names of the jobs or modules below path that a variable may mean by part:
// their names in lower case, with an underscore for each hyphen and dot. If there are none, it
// returns part itself.
func (r *reader) defined(path, part string) []string {
	plain := strings.NewReplacer("-", "_", ".", "_")
	var names []string
	for _, full := range sortedNames(r.named) {
		name, below := strings.CutPrefix(full, path+".")
		name = unquoteKey(name)
		if below && plain.Replace(strings.ToLower(name)) == part {
			names = append(names, name)
		}
	}
	if names == nil {
		return []string{part}
	}
	return names
}

// fromText converts a variable's text to the value that the TOML parser would return for key k.
// Text that is no flag or number stays a string, which convert then refuses.
func fromText(k key, s string) any {
	switch k.takes {
	case flag:
		if b, err := strconv.ParseBool(s); err == nil {
			return b
		}
	case number:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
	case list:
		parts := []any{}
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				parts = append(parts, escapeDollar(part))
			}
		}
		return parts
	}
	return escapeDollar(s)
}

// escapeDollar makes expand keep the value as it is.
func escapeDollar(s string) string { return strings.ReplaceAll(s, "$", "$$") }
