package job

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the table of settings anew")

// fieldsOf visits the fields of a Config, with their paths, except structs that group other
// fields.
func fieldsOf(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	if v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[Pool]() {
		visit(path, v)
		return
	}
	for i := range v.NumField() {
		fieldsOf(v.Field(i), strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), visit)
	}
}

// fieldOf returns the path of a setting's field.
func fieldOf(s Setting) (path string) {
	var c Config
	fieldsOf(reflect.ValueOf(&c).Elem(), "", func(at string, v reflect.Value) {
		if v.Addr().Interface() == s.Field(&c) {
			path = at
		}
	})
	return path
}

// A field without a row could neither be set in a file nor be kept in the registry.
func TestEveryFieldIsASetting(t *testing.T) {
	t.Parallel()
	rows := map[string]string{
		"Name":           "the name of its table",
		"ModuleDigest":   "found in the module",
		"StrategyDigest": "found in the module",
		"Unsaid":         "of the file, not of the job",
	}
	names := map[string]bool{}
	for s := range Settings() {
		path := fieldOf(s)
		if path == "" || rows[path] != "" || names[s.Name] {
			t.Errorf("%s: the field %q is none, or has two rows", s.Name, path)
		}
		rows[path], names[s.Name] = s.Name, true
	}
	fieldsOf(reflect.ValueOf(Config{}), "", func(path string, _ reflect.Value) {
		if rows[path] == "" {
			t.Errorf("%s has no row in settings", path)
		}
	})
}

func TestRowsAreCoherent(t *testing.T) {
	t.Parallel()
	for s := range Settings() {
		v := reflect.ValueOf(s.Field(&Config{})).Elem()
		kinds := map[SettingType][]reflect.Kind{
			Text: {reflect.String}, Word: {reflect.String}, Items: {reflect.String}, Flag: {reflect.Bool}, Number: {reflect.Int, reflect.Int64},
			Size: {reflect.Int64}, Duration: {reflect.Int64}, List: {reflect.Slice}, Texts: {reflect.Map}, Instances: {reflect.Struct},
		}
		if !slices.Contains(kinds[s.Type], v.Kind()) || (s.Type == Duration) != (v.Type() == reflect.TypeFor[time.Duration]()) {
			t.Errorf("%s: a %s is kept as %s", s.Name, s.Type, v.Type())
		}
		if s.Default != nil && !reflect.TypeOf(s.Default).ConvertibleTo(v.Type()) {
			t.Errorf("%s: the default is of type %T", s.Name, s.Default)
		}
		if (s.Type == Word) != (len(s.Words) > 0) || (s.Type == Number || s.Type == Size) != (s.Max > 0) || s.Min > s.Max {
			t.Errorf("%s: words %q, bounds %d and %d", s.Name, s.Words, s.Min, s.Max)
		}
		if s.Key == "" && !s.Module && s.Change != FromFile {
			t.Errorf("%s is kept nowhere", s.Name)
		}
		if s.Yields && s.Key == "" {
			t.Errorf("%s yields to nothing", s.Name)
		}
	}
}

// All code handles a setting by its row. A new setting is a field, a row, and the code that
// obeys it.
func TestASettingIsAFieldAndARow(t *testing.T) {
	t.Parallel()
	// Fields that the readers of the file or the registry must know by name.
	special := map[string]string{
		"Kind": "a kind of ElasticJob's", "Class": "a class of ElasticJob's", "Module": "its bytes are found", "StrategyModule": "its bytes are found",
		"Except": "names calendars of the file", "TimeZone": "is held against the cron", "Dialect": "is held against the cron", "Overlap": "never empty", "OnRegistryLoss": "never empty",
		"OnStrategyError": "is held against the strategy's module",
		"FetchCount":      "has another name in ElasticJob", "Concurrency": "has another name in ElasticJob",
		"After": "names jobs of the file", "Notify": "is held against [notify]", "Args": "is masked in a dump", "Settings": "is masked in a dump", "Allow.Dirs": "paths are relative to the file", "Allow.HTTP": "is parsed",
	}
	var sources []string
	for _, folder := range []string{"../config", "../internal/layout"} {
		names, err := filepath.Glob(folder + "/*.go")
		if err != nil || len(names) == 0 {
			t.Fatal(folder, err)
		}
		sources = append(sources, names...)
	}
	for s := range Settings() {
		path := fieldOf(s)
		if !s.Module || special[path] != "" {
			continue
		}
		field := regexp.MustCompile(`\b(?:[cj]|file|Limits|Retry|Allow)\.` + path[strings.LastIndexByte(path, '.')+1:] + `\b|"` + regexp.QuoteMeta(s.Name) + `"`)
		for _, name := range sources {
			if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(filepath.Base(name), "cases") { // these have keys of their own
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if at := field.Find(text); at != nil {
				t.Errorf("%s: %s knows %s; let its row say what is needed", s.Name, name, at)
			}
		}
	}
}

// TestSettingsPage: docs/SETTINGS.md matches the table.
func TestSettingsPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/SETTINGS.md"
	want := settingsPage()
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/SETTINGS.md is not the table of settings: run make generate (%v)", err)
	}
}

func settingsPage() []byte {
	var b bytes.Buffer
	b.WriteString(`# Settings of a job

Generated from the table in host/job/settings.go by ` + "`make generate`" + `; do not edit. [jobs.toml](../jobs.toml) says what each is for, and
has the limits that a job has if it sets none.

- A setting marked * may also stand in ` + "`[defaults]`" + ` of a file, for all its jobs.
- The column *stored in* names the key of ElasticJob's ` + "`config`" + ` node, or ` + "`wasm/module`" + ` under the setting's own name.
- A job without ` + "`cron`" + ` has ` + "`schedule = \"manual\"`" + `: only a trigger runs it.
- The column *only for jobs* has the kinds of jobs that can have the setting, or "with a module". Empty: all jobs.
- The column *a change takes effect* says when a server that runs the job uses a changed value. Empty: at once, for runs that begin after it.

| setting of a job | value | default | only for jobs | stored in | a change takes effect |
|---|---|---|---|---|---|
`)
	for s := range Settings() {
		fmt.Fprintf(&b, "| `%s`%s | %s | %s | %s | %s | %s |\n", s.Name, mark(s.Inherits), valueOf(s), defaultOf(s), jobsOf(s), keptOf(s), s.Change)
	}
	return b.Bytes()
}

func mark(inherits bool) string {
	if inherits {
		return " *"
	}
	return ""
}

func valueOf(s Setting) string {
	switch s.Type {
	case Word:
		return "`\"" + strings.Join(slices.Concat(zero(s), s.Words), "\"`, `\"") + "\"`"
	case Number:
		return fmt.Sprintf("%d to %d", s.Min, s.Max)
	case Size:
		return FormatSize(s.Min) + " to " + FormatSize(s.Max)
	case Instances:
		return fmt.Sprintf("`%q`, or `{ pool = 4, max_uses = 100 }`", s.Zero)
	case Duration:
		text := string(s.Type)
		if s.Unit != 0 {
			text += ", whole " + map[time.Duration]string{time.Second: "seconds", time.Minute: "minutes"}[s.Unit]
		}
		for _, word := range zero(s) {
			text += ", or `\"" + word + "\"`"
		}
		return text
	case Text, Flag, List, Texts, Items:
	}
	return string(s.Type)
}

func zero(s Setting) []string {
	if s.Zero == "" {
		return nil
	}
	return []string{s.Zero}
}

func defaultOf(s Setting) string {
	switch d := s.Default.(type) {
	case string:
		return fmt.Sprintf("`%q`", d)
	case time.Duration:
		if d > 0 {
			return "`\"" + strings.TrimSuffix(d.String(), "0s") + "\"`"
		}
	case nil:
		switch s.Name {
		case "overwrite":
			return "`true` with the embedded registry"
		case "layout":
			return "that of `[registry]`"
		}
	default:
		return fmt.Sprintf("`%v`", d)
	}
	switch {
	case s.Type == Word:
		return fmt.Sprintf("`%q`", slices.Concat(zero(s), s.Words)[0])
	case s.Zero != "":
		return fmt.Sprintf("`%q`", s.Zero)
	case s.Type == Flag:
		return "`false`"
	}
	return ""
}

func jobsOf(s Setting) string {
	if s.Sandbox {
		return "with a module"
	}
	var names []string
	for _, k := range s.Kinds {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

func keptOf(s Setting) string {
	switch {
	case s.Key != "" && s.Module:
		return "`" + s.Key + "`, `wasm/module`"
	case s.Key != "":
		return "`" + s.Key + "`"
	case s.Key1 != "":
		return "`wasm/module`, in layout 1 `" + s.Key1 + "`"
	case s.Module:
		return "`wasm/module`"
	}
	return "the server's file"
}
