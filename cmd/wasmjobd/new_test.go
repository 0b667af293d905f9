package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/cmd/wasmjobd/internal/scaffold"
)

// toolchain is what the test of a language's projects needs.
type toolchain struct {
	lang string
	// find returns what is missing, or how to change the printed command for a compiler that is
	// not in its usual place.
	find  func(t *testing.T, dir, kind string) (missing string, change *strings.Replacer)
	tests string // command for the project's own tests, without Wasm
}

var asPrinted = strings.NewReplacer()

func toolchains() []toolchain {
	return []toolchain{
		{"go", func(*testing.T, string, string) (string, *strings.Replacer) { return "", asPrinted }, "go vet . && go test ."},
		{"tinygo", findTinyGo, ""},
		{"rust", findRust, "cargo test --target-dir target"},
		{"c", findC, "make test"},
		{"assemblyscript", findAssemblyScript, "node --test test/"},
	}
}

func there(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// builtHere returns a file that make guests creates under build/.
func builtHere(t *testing.T, name string) (path string, ok bool) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(path)
	return path, err == nil
}

func findTinyGo(t *testing.T, _, _ string) (string, *strings.Replacer) {
	if there("tinygo") {
		return "", asPrinted
	}
	compiler, ok := builtHere(t, "build/tools/tinygo/source/build/tinygo")
	if !ok {
		return "tinygo", nil
	}
	return "", strings.NewReplacer("&& tinygo ", "&& PATH="+filepath.Dir(compiler)+":$PATH tinygo ")
}

func findRust(t *testing.T, _, kind string) (string, *strings.Replacer) {
	target := "wasm32-unknown-unknown"
	if kind == "script" {
		target = "wasm32-wasip1"
	}
	if !there("cargo") || !there("rustc") {
		return "cargo", nil
	}
	lib, err := exec.CommandContext(t.Context(), "rustc", "--print", "target-libdir", "--target", target).Output()
	if err != nil {
		return "rustc: " + err.Error(), nil
	}
	if std, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(lib)), "libstd-*.rlib")); len(std) == 0 {
		return "the target " + target + " of Rust", nil
	}
	return "", asPrinted
}

func findC(t *testing.T, _, _ string) (string, *strings.Replacer) {
	const probe = `echo 'int main(void) { return 0; }' | $(command -v clang-19 || echo clang) --target=wasm32-wasi --sysroot=/usr -x c -o /dev/null -`
	if !there("make") || !there("cc") || exec.CommandContext(t.Context(), "sh", "-c", probe).Run() != nil {
		return "make, cc, or clang with lld and wasi-libc", nil
	}
	return "", asPrinted
}

// findAssemblyScript uses the compiler that was fetched for the examples, so that the test
// needs no network.
func findAssemblyScript(t *testing.T, dir, _ string) (string, *strings.Replacer) {
	modules, ok := builtHere(t, "build/assemblyscript/node_modules")
	if !ok || !there("npm") {
		return "npm, or the compiler in build/assemblyscript: make guests", nil
	}
	if err := os.Mkdir(filepath.Join(dir, "node_modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"wasmjob": filepath.Join(dir, "wasmjob")}
	for _, name := range []string{".bin", "assemblyscript", "binaryen", "long"} {
		links[name] = filepath.Join(modules, name)
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, "node_modules", name)); err != nil {
			t.Fatal(err)
		}
	}
	return "", strings.NewReplacer("npm install && ", "")
}

// Every project can be built and run with the printed commands, and passes its own tests and
// cases.
func TestNewProjects(t *testing.T) {
	t.Parallel()
	for _, tool := range toolchains() {
		for _, kind := range scaffold.Kinds() {
			t.Run(tool.lang+"/"+kind, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "job")
				printed := shell(t, ".", "wasmjobd new --lang "+tool.lang+" --kind "+kind+" "+dir)
				missing, change := tool.find(t, dir, kind)
				if missing != "" {
					omit(t, "not there: "+missing)
				}
				build, run, _ := strings.Cut(strings.TrimSpace(printed), "\n")
				shell(t, ".", change.Replace(build))
				if out := shell(t, ".", run); !strings.Contains(out, "verdict     ok") {
					t.Errorf("%s\n%s", run, out)
				}
				module := strings.Fields(run)[2]
				shell(t, dir, "wasmjobd test "+module+" cases.toml")
				if kind != "strategy" {
					namesItsFunctions(t, module)
				}
				if tool.tests != "" {
					shell(t, dir, tool.tests)
				}
				isServed(t, dir)
			})
		}
	}
}

// namesItsFunctions ends a run like a trap, when its fuel is used up within its code: the stack
// must have names, which a release build must not strip.
func namesItsFunctions(t *testing.T, module string) {
	t.Helper()
	var said string
	for fuel := 1; fuel < 1<<30; fuel *= 2 { // small functions do not report before they return
		var out, say strings.Builder
		code := run(t.Context(), []string{"exec", module, "--fuel", strconv.Itoa(fuel), "-q"}, nil, strings.NewReader(""), &out, &say)
		said = say.String()
		if code != exitRunFailed {
			break
		}
		if _, stack, found := strings.Cut(said, "wasm stack trace:\n"); found {
			if unnamed.MatchString(stack) {
				t.Errorf("functions without names:\n%s", said)
			}
			return
		}
	}
	t.Errorf("no amount of fuel ends it within its code:\n%s", said)
}

var unnamed = regexp.MustCompile(`\$\d+\(`)

// A line of jobs.toml that is an example of a setting has no blank after the #.
var examples = regexp.MustCompile(`(?m)^#([^ ])`)

// isServed runs the server as the project's README says, with a fire every second, and
// validates the configuration with all its examples.
func isServed(t *testing.T, dir string) {
	t.Helper()
	config, err := os.ReadFile(filepath.Join(dir, "jobs.toml"))
	if err != nil {
		t.Fatal(err)
	}
	every := strings.Replace(string(config), "0/10 * * * * ?", "* * * * * ?", 1)
	for name, text := range map[string]string{"every.toml": every, "examples.toml": examples.ReplaceAllString(string(config), "$1")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shell(t, dir, "wasmjobd validate examples.toml")
	d := startServe(t, dir, "--config", "every.toml")
	d.until(t, func(e eventLine) bool { return e.State == "succeeded" })
	if err := d.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.ExitStatus() != exitOK || s.Signaled() {
		t.Errorf("ended by %v; standard error:\n%s", s, d.errors)
	}
}

// shell runs a command as a user would type it, and returns its output.
func shell(t *testing.T, dir, command string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sh", "-c", command)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	var out, all strings.Builder
	c.Stdout, c.Stderr = &out, &all
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, out.String(), all.String())
	}
	return out.String()
}

// omit skips a test whose tools are missing. In strict mode it fails the test instead.
func omit(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("WASMJOBD_STRICT") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}
