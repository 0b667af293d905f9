// Package scaffold makes projects for authors of jobs: a small job that works,
// with its tests, its build files and the SDK's sources, which are published
// nowhere else.
//
// It is not for printing, and knows nothing of modules: what a project's files
// say is tested by building and running them.
//
// The flow:
//
//	templates/*.txtar    the files of each language and kind, written by hand
//	sdk.txtar            the sources of the SDKs, packed from abi/ by go generate
//	Project.Files        picks and fills in; Write puts them into a directory
package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

//go:generate go test -run ^TestSDK$ -update .

//go:embed templates/*.txtar
var templates embed.FS

//go:embed sdk.txtar
var sdks string

// Project describes the project to create.
type Project struct {
	Lang string // one of Languages
	Kind string // one of Kinds
	Name string // of the job; see NameFor
}

// Kinds of projects.
func Kinds() []string { return []string{"simple", "dataflow", "script", "strategy"} }

// Languages of projects.
func Languages() []string {
	var names []string
	for _, l := range languages() {
		names = append(names, l.name)
	}
	return names
}

// ErrNotEmpty is the error for a directory that already has files.
var ErrNotEmpty = errors.New("the directory is not empty")

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// maxName is the longest derived name: registries of packages and of jobs allow at least that.
const maxName = 50

// NameFor derives a name from a directory. It has lower-case letters, digits and hyphens, and
// begins with a letter, so that every language's tools accept it.
func NameFor(dir string) (string, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the directory %s: %w", dir, err)
	}
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(filepath.Base(full)), "-"), "-")
	if len(name) > maxName {
		name = strings.TrimRight(name[:maxName], "-")
	}
	switch {
	case name == "":
		return "job", nil
	case name[0] < 'a', slices.Contains(reserved, name):
		return "job-" + name, nil
	}
	return name, nil
}

// reserved are names that a package must not have: the SDK's own, and words of Rust, where the
// name of a package is also an identifier.
var reserved = strings.Fields("wasmjob assemblyscript test core std alloc proc-macro build deps examples incremental " +
	"abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if impl in " +
	"let loop macro match mod move mut override priv pub ref return self static struct super trait true try type typeof " +
	"unsafe unsized use virtual where while yield con prn aux nul")

// Files returns the files of the project, by path with slashes.
func (p Project) Files() (map[string]string, error) {
	l, err := p.language()
	if err != nil {
		return nil, err
	}
	fill := l.replacer(p)
	files := map[string]string{}
	// take returns the name in the project of a file in the archive; "" if the project does not get it.
	for archive, take := range map[string]func(name string) string{
		l.template: p.ofTemplate,
		"readme":   func(name string) string { return name },
		"cases": func(name string) string {
			if name == p.Kind {
				return "cases.toml"
			}
			return ""
		},
	} {
		text, err := templates.ReadFile("templates/" + archive + ".txtar")
		if err != nil {
			return nil, fmt.Errorf("read the templates of %s: %w", archive, err)
		}
		all, err := unpack(string(text))
		if err != nil {
			return nil, fmt.Errorf("read the templates of %s: %w", archive, err)
		}
		for _, f := range all {
			if name := take(f.name); name != "" {
				files[name] = fill.Replace(f.text)
			}
		}
	}
	files["jobs.toml"] = p.configuration(l.module(p.Kind))
	all, err := unpack(sdks)
	if err != nil {
		return nil, fmt.Errorf("read the SDKs: %w", err)
	}
	for _, f := range all {
		if name, ok := strings.CutPrefix(f.name, l.sdk+"/"); ok {
			files["wasmjob/"+name] = f.text
		}
	}
	return files, nil
}

// ofTemplate returns the name in the project of a template's file, or "" if the file is for other kinds.
// The first folder says for which: one kind, all, or lib. A script is a command; the others are libraries.
func (p Project) ofTemplate(name string) string {
	folder, rest, _ := strings.Cut(name, "/")
	if folder == p.Kind || folder == "all" || folder == "lib" && p.Kind != "script" {
		return rest
	}
	return ""
}

// Commands returns the command lines that build and run the module, if the project's directory
// is dir.
func (p Project) Commands(dir string) (build, run string, err error) {
	l, err := p.language()
	if err != nil {
		return "", "", err
	}
	module := path.Join(filepath.ToSlash(dir), l.module(p.Kind))
	return "(cd " + quoted(dir) + " && " + l.build(p.Kind) + ")", "wasmjobd exec " + quoted(module) + " " + tries[p.Kind], nil
}

// quoted quotes a path for a shell, if that is necessary. One that begins with a hyphen gets ./ in front, or
// commands would take it for a flag.
func quoted(word string) string {
	if word != "" && !strings.HasPrefix(word, "-") && !strings.ContainsFunc(word, special) {
		return word
	}
	if strings.HasPrefix(word, "-") {
		word = "./" + word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// special reports whether a character may mean something to a shell.
func special(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-./+:@%,", r) || r > 127 && unicode.IsLetter(r))
}

// tries are flags that show what the job of each kind does.
var tries = map[string]string{
	"simple":   "--item 1 --total 3 --item-param moon",
	"dataflow": "--streaming --allow state",
	"script":   "--item 1 --total 3 --arg north --arg south",
	"strategy": "--total 7",
}

// Write creates the directory unless it exists and is empty, and writes the files into it. If
// it has any files, the error is ErrNotEmpty.
func Write(dir string, files map[string]string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look into the directory: %w", err)
	}
	if len(entries) > 0 {
		return ErrNotEmpty
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // sources that other users may read
			return fmt.Errorf("make the project: %w", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // as above
			return fmt.Errorf("make the project: %w", err)
		}
	}
	return nil
}
