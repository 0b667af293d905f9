package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/internal/oci"
)

// createFlags describe a new job.
type createFlags struct {
	from, module, cron string
	shards             int
	set                []string
}

func jobCreate(o *operatorVerb) *cobra.Command {
	var flags createFlags
	c := &cobra.Command{
		Use: "create JOB", Short: "Create a job in the registry, without a file", Args: cobra.ExactArgs(1),
		Long: "Servers that find jobs in the registry run the new job as soon as they have its module: on\n" +
			"ZooKeeper all servers, otherwise the one with the registry inside. Bring the module to the servers\n" +
			"first, with module push. This includes an artifact, oci://…, of which only the digest of its bytes\n" +
			"goes into the registry. The server that is asked warns if no server has the module.\n\n" +
			"The job is the one with that name in a configuration, --from FILE, whose other jobs and tables are\n" +
			"ignored, or it is described by the flags. Neither this environment nor other files are read: a\n" +
			"variable has only its default, and include is refused. Relative directories of grants start at the\n" +
			"folder of FILE, and are refused in flags. The [host.allow] of each server limits what the job may\n" +
			"do: only servers that grant everything it asks for run it. A job that is already in the registry\n" +
			"is refused. To change it, use apply, or the file of a server, which then has precedence.",
		Example: "  wasmjobd job create report --module report.wasm --cron '0 0 2 * * ?' --shards 4\n  wasmjobd job create report --from jobs.toml",
	}
	c.Flags().StringVar(&flags.from, "from", "", "`file` with the tables of the job and its module, or - for standard input")
	c.Flags().StringVar(&flags.module, "module", "", "its module: a `file`, a digest, NAME@VERSION or oci://… (default: the module in --from)")
	c.Flags().StringVar(&flags.cron, "cron", "", "when it runs; without, only when triggered")
	c.Flags().IntVar(&flags.shards, "shards", 1, "number of its items")
	c.Flags().StringArrayVar(&flags.set, "set", nil, "another `key=value` of its table, in TOML, such as misfire=false or 'timeout=\"30s\"'; may be repeated")
	c.RunE = func(c *cobra.Command, args []string) error {
		text, err := flags.text(c, o.term, args[0])
		if err != nil {
			return err
		}
		return o.ask(c.Context(), func(ctx context.Context, f *config.File, op cluster) error {
			warning, err := op.CreateJob(ctx, text, defineIn(f.Registry))
			if err != nil {
				return err
			}
			if warning != "" {
				o.term.note("wasmjobd: %s", warning)
			}
			return o.term.answer(struct {
				Version int    `json:"version"`
				Job     string `json:"job"`
				Warning string `json:"warning,omitempty"`
			}{1, text.Name, warning}, "%s: created; servers that have its module run it\n", plain(text.Name))
		})
	}
	return c
}

// text returns the job that the flags describe: the one in --from, or a table that is made of the other
// flags.
func (f *createFlags) text(c *cobra.Command, term *terminal, name string) (operator.JobText, error) {
	t, module := operator.JobText{Name: name}, f.module
	if f.from == "" {
		if module == "" {
			return t, usage("write --module with a file or digest, or --from with a configuration")
		}
		if slices.ContainsFunc(f.set, func(one string) bool { return strings.ContainsAny(one, "\r\n") }) {
			return t, usage("--set takes one line, key=value; write a longer value into a file, and use --from FILE")
		}
		t.TOML = f.table(name)
		if _, err := config.Parse("flags", []byte(t.TOML), config.Options{Elsewhere: true, AfterAny: true, NoFile: true}); err != nil {
			return t, unreadable("the job", f.blame(err))
		}
		err := digestOf(c.Context(), term, &t, module)
		return t, err
	}
	for _, flag := range []string{"cron", "shards", "set"} {
		if c.Flags().Changed(flag) {
			return t, usage("--%s and --from: write it into the file", flag)
		}
	}
	content, err := readText(term, f.from)
	if err != nil {
		return t, exitf(exitInvalid, "read the job: %w", err)
	}
	all, err := config.Parse(f.from, content, config.Options{Elsewhere: true, AfterAny: true})
	if err != nil {
		return t, unreadable("the job", err)
	}
	i := slices.IndexFunc(all.Jobs, func(j job.Config) bool { return j.Name == name })
	if i < 0 {
		return t, exitf(exitNotFound, "%s has no table [jobs.%s]", f.from, name)
	}
	of, err := config.Excerpts(content) // the whole text could be too large for a request
	if err == nil {
		t.TOML, err = of(all.Jobs[i])
	}
	if err != nil {
		return t, err
	}
	for _, m := range all.Modules {
		if module == "" && m.Name == all.Jobs[i].Module {
			module = cmp.Or(m.SHA256, m.Artifact, m.Path)
		}
	}
	err = digestOf(c.Context(), term, &t, module)
	return t, err
}

// table writes a configuration with one job. blame maps its lines to flags by their numbers: each has its
// place even if it is empty, and the lines of --set follow. JSON strings are valid TOML strings.
func (f *createFlags) table(name string) string {
	text := func(s string) string {
		quoted, _ := json.Marshal(s) // cannot fail for a string
		return string(quoted)
	}
	when := "schedule = \"manual\""
	if f.cron != "" {
		when = "cron = " + text(f.cron)
	} else if slices.ContainsFunc(f.set, func(one string) bool { key, _, _ := strings.Cut(one, "="); return strings.TrimSpace(key) == "after" }) {
		when = "" // the jobs before it determine when it runs
	}
	lines := []string{"[modules." + text(name) + "]", "source = \"file:module.wasm\"", "[jobs." + text(name) + "]", "module = " + text(name), "shards = " + strconv.Itoa(f.shards), when}
	return strings.Join(append(lines, f.set...), "\n") + "\n"
}

// blame replaces the places of problems in the text of table by the flags that the lines come from.
func (f *createFlags) blame(err error) error {
	problems, ok := errors.AsType[config.Problems](err)
	if !ok {
		return err
	}
	const fixed = 6 // lines before those of --set
	flags := append([]string{"JOB", "--module", "JOB", "--module", "--shards", "--cron"}, f.set...)
	var named config.Problems
	for _, p := range problems {
		at := min(max(p.Line, 1), len(flags)) // an unexpected end of the text lies after the last line
		p.File, p.Line, p.Col = flags[at-1], 0, 0
		if at > fixed {
			p.File = "--set " + plain(p.File)
		}
		named = append(named, p)
	}
	return named
}

var digestForm = regexp.MustCompile(`^(sha256:)?[0-9a-f]{64}$`)

// digestOf sets the digest of the job's module, which is given as a digest, NAME@VERSION, a file or an
// artifact. NAME@VERSION stays as it is: the request looks up its digest. For an artifact it is the digest
// of the module's bytes, not of the artifact.
func digestOf(ctx context.Context, term *terminal, t *operator.JobText, module string) error {
	if digestForm.MatchString(module) || namesVersion(module) {
		t.Digest = strings.TrimPrefix(module, "sha256:")
		return nil
	}
	var wasm []byte
	var err error
	if oci.Is(module) {
		wasm, _, err = pullModule(ctx, term, module)
	} else if wasm, err = os.ReadFile(module); err != nil {
		err = exitf(exitInvalid, "read the module, which must be a file, a digest or an artifact: %w", err)
	}
	if err != nil {
		return err
	}
	sum := sha256.Sum256(wasm)
	t.Digest = hex.EncodeToString(sum[:])
	return nil
}

// defineIn returns a function that makes a job from an operator's text, for a registry. It does not use this
// server's environment and limits, since the job may run on other servers and after jobs that the text
// does not have.
func defineIn(r config.Registry) func(operator.JobText) (job.Config, error) {
	return func(t operator.JobText) (job.Config, error) {
		f, err := config.Parse("job.toml", []byte(t.TOML), config.Options{Elsewhere: true, AfterAny: true, NoFile: true, Kind: r.Kind, Layout: cmp.Or(t.Layout, r.Layout)})
		if err != nil {
			return job.Config{}, &host.Error{Code: host.Invalid, Msg: "the job cannot be read", Err: err}
		}
		for _, j := range f.Jobs {
			if j.Name == t.Name {
				j.ModuleDigest = t.Digest
				return j, nil
			}
		}
		return job.Config{}, &host.Error{Code: host.Invalid, Msg: fmt.Sprintf("the text has no table [jobs.%.100s]", t.Name)}
	}
}
