package scaffold

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// language has what differs between languages.
type language struct {
	name, title   string
	template, sdk string // archives
	needs, docs   string // words of the README
	test          string
	build, module func(kind string) string // command, and the file that it creates
}

// always returns the same text for every kind.
func always(text string) func(string) string { return func(string) string { return text } }

// either returns one text for scripts, which are WASI commands, and another for the other kinds.
func either(script, rest string) func(string) string {
	return func(kind string) string {
		if kind == "script" {
			return script
		}
		return rest
	}
}

// languages are those of projects, in the order in which the help lists them.
func languages() []language {
	return []language{
		{
			name: "rust", title: "Rust", template: "rust", sdk: "rust",
			needs: "Rust 1.82 or later with the target: `rustup target add @target@`",
			docs:  "and `cargo doc --open -p wasmjob` shows its documentation",
			test:  "cargo test",
			build: either("cargo build --release --target wasm32-wasip1 --target-dir target",
				"cargo build --release --target wasm32-unknown-unknown --target-dir target"),
			module: either("target/wasm32-wasip1/release/job.wasm", "target/wasm32-unknown-unknown/release/job.wasm"),
		},
		{
			name: "go", title: "Go", template: "go", sdk: "go",
			needs: "Go 1.24 or later",
			docs:  "and `go doc github.com/wasmjob/wasmjob/abi/go` shows its documentation",
			test:  "go test .",
			build: either("GOOS=wasip1 GOARCH=wasm go build -o job.wasm .",
				"GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o job.wasm ."),
			module: always("job.wasm"),
		},
		{
			name: "tinygo", title: "Go for TinyGo", template: "go", sdk: "go",
			needs: "TinyGo 0.37 or later",
			docs:  "and `go doc github.com/wasmjob/wasmjob/abi/go` shows its documentation",
			test:  "go test .",
			build: either("tinygo build -target=wasip1 -no-debug -o job.wasm .",
				"tinygo build -target=wasip1 -buildmode=c-shared -no-debug -o job.wasm ."),
			module: always("job.wasm"),
		},
		{
			name: "assemblyscript", title: "AssemblyScript", template: "assemblyscript", sdk: "assemblyscript",
			needs: "Node 20 or later",
			docs:  "with a `README.md` that explains it",
			test:  "npm test",
			build: always("npm install && npm run build"), module: always("job.wasm"),
		},
		{
			name: "c", title: "C", template: "c", sdk: "c",
			needs: "clang with lld and wasi-libc: the `Makefile` names the packages",
			docs:  "with a `README.md` that explains it",
			test:  "make test",
			build: always("make"), module: always("job.wasm"),
		},
	}
}

// language returns the project's language, or an error if its kind or language is unknown.
func (p Project) language() (language, error) {
	if !slices.Contains(Kinds(), p.Kind) {
		return language{}, fmt.Errorf("there is no kind %q; write one of %s", p.Kind, strings.Join(Kinds(), ", "))
	}
	for _, l := range languages() {
		if l.name == p.Lang {
			return l, nil
		}
	}
	return language{}, fmt.Errorf("there is no language %q; write one of %s", p.Lang, strings.Join(Languages(), ", "))
}

// compiler finds the version of AssemblyScript with which the SDK is tested.
var compiler = regexp.MustCompile(`"assemblyscript": "([^"]+)"`)

// replacer replaces the names between at signs in the templates by what they stand for in a project.
func (l language) replacer(p Project) *strings.Replacer {
	version := "*" // any, to npm
	if m := compiler.FindStringSubmatch(sdks); m != nil {
		version = m[1]
	}
	target := either("wasm32-wasip1", "wasm32-unknown-unknown")(p.Kind)
	module := l.module(p.Kind)
	return strings.NewReplacer(
		"@name@", p.Name, "@language@", l.title, "@assemblyscript@", version,
		"@what@", map[string]string{"simple": "A job", "dataflow": "A dataflow job", "script": "A script", "strategy": "A sharding strategy"}[p.Kind],
		"@build@", l.build(p.Kind), "@run@", "wasmjobd exec "+module+" "+tries[p.Kind], "@test@", l.test,
		"@module@", module, "@needs@", strings.ReplaceAll(l.needs, "@target@", target), "@docs@", l.docs,
	)
}
