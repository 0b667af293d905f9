package arch

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// generatedPages are made from the code by make generate.
var generatedPages = []string{"docs/PACKAGES.md", "docs/NODES.md", "docs/MUTATIONS.md", "docs/SCRIPTS.md", "docs/SETTINGS.md", "docs/CASEKEYS.md", "docs/METRICS.md", "docs/REASONS.md", "docs/COMMANDS.md", "docs/DIFFERENCES.md", "abi/REFERENCE.md", "docs/API.md"}

var documents = slices.Concat(generatedPages, []string{
	"README.md", "CONTRIBUTING.md", "docs/ARCHITECTURE.md", "docs/PROTOCOL.md", "docs/RATIONALE.md", "docs/STATUS.md", "docs/CASES.md", "docs/FAULTS.md", "docs/OPERATIONS.md", "docs/MIGRATION.md",
	"abi/ABI.md", "abi/conformance/README.md", "abi/conformance/GUEST.md", "plugins/examples/README.md", "host/job/recorded/testdata/README.md",
})

const (
	readmeScript  = "cmd/wasmjobd/testdata/script/readme.txtar"
	clusterScript = "cmd/wasmjobd/testdata/cluster/readme.txtar"
	joinScript    = "cmd/wasmjobd/testdata/cluster/join.txtar"
	insideScript  = "cmd/wasmjobd/testdata/inside/readme.txtar"
	takesCurl     = "\nsed -n \"/^curl /{ "
)

// readmeCommands is every command that the README gives, with the place where a test runs
// it and checks its result: a file, and a text in that file.
var readmeCommands = map[string]struct{ file, text string }{
	"make run":  {".ci/run", "make run"},
	"make test": {".ci/run", "make test"},

	"wasmjobd exec plugins/examples/hello-rust/hello-rust.wasm --item 1 --total 3 --item-param moon": {
		readmeScript, "\nexec wasmjobd exec plugins/examples/hello-rust/hello-rust.wasm --item 1 --total 3 --item-param moon\nstdout ",
	},
	"wasmjobd inspect plugins/examples/hello-rust/hello-rust.wasm": {
		readmeScript, "\nexec wasmjobd inspect plugins/examples/hello-rust/hello-rust.wasm\nstdout ",
	},
	"sudo apt-get install zookeeper": {"host/registry/zk/zktest/release.go", `run("apt-get", "-o", "DPkg::Lock::Timeout=300", "-y", "-qq", "install", "--no-install-recommends", "zookeeper")`},
	"java -cp /usr/share/java/zookeeper.jar org.apache.zookeeper.server.ZooKeeperServerMain 2181 data/zookeeper": {
		clusterScript, "\nexec java -cp /usr/share/java/zookeeper.jar org.apache.zookeeper.server.ZooKeeperServerMain $FREE $WORK/zookeeper &",
	},
	"SERVER=1 wasmjobd serve --config plugins/examples/long-wat/jobs.toml": {
		clusterScript, "\nenv SERVER=1\nenv WASMJOBD_SERVER__DATA_DIR=$WORK/1\nexec sh -c 'exec wasmjobd serve --config plugins/examples/long-wat/jobs.toml ",
	},
	"wasmjobd job trigger long --config plugins/examples/long-wat/jobs.toml": {
		clusterScript, "\nwasmjobd job trigger long --config plugins/examples/long-wat/jobs.toml\nstdout ",
	},
	"wasmjobd job show long --config plugins/examples/long-wat/jobs.toml": {
		clusterScript, "\nwasmjobd job show long --config plugins/examples/long-wat/jobs.toml\nstdout ",
	},
	"wasmjobd doctor --registry --config orders.toml": {joinScript, "\nwasmjobd doctor --registry --config orders.toml\nstdout "},
	"wasmjobd serve --shadow --config orders.toml":    {joinScript, "\nexec sh -c 'exec wasmjobd serve --shadow --config orders.toml "},
	"wasmjobd serve --config orders.toml":             {joinScript, "\nexec sh -c 'exec wasmjobd serve --config orders.toml "},
	// The script takes these lines from README.md itself.
	"curl -H \"Authorization: Bearer $(cat data/first-token)\" http://127.0.0.1:8680/api/v1/jobs":                      {insideScript, takesCurl},
	"curl -H \"Authorization: Bearer $(cat data/first-token)\" -X POST http://127.0.0.1:8680/api/v1/jobs/hello/runs":   {insideScript, takesCurl},
	"curl -H \"Authorization: Bearer $(cat data/first-token)\" 'http://127.0.0.1:8680/api/v1/jobs/hello/runs?limit=3'": {insideScript, takesCurl},
	"curl -H \"Authorization: Bearer $(cat data/first-token)\" 'http://127.0.0.1:8680/api/v1/events?job=hello'":        {insideScript, takesCurl},
	"wasmjobd new --lang rust my-job": {readmeScript, "\nexec wasmjobd new --lang rust my-job\nstdout "},
}

var (
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ +(.+?)\s*$`)
	fence      = regexp.MustCompile("(?ms)^(?:<!-- from (\\S+) -->\n)?```([a-z]*)\n(.*?)^```$")
	makeCall   = regexp.MustCompile("`make ([a-z-]+)|^make ([a-z-]+)")
	makeTarget = regexp.MustCompile(`(?m)^([a-z-]+):(?:[^=\n#]*)(##.*)?$`)
	verbSpan   = regexp.MustCompile("`(?:build/)?wasmjobd ([a-z]+)")
	flagSpan   = regexp.MustCompile(`--([a-z][a-z-]+)`)
	pathSpan   = regexp.MustCompile("`((?:host|cmd|plugins|abi|strategy|docs|\\.ci)/[A-Za-z0-9_./-]+)`")
	fileSpan   = regexp.MustCompile("`([a-z0-9_]+\\.(?:go|txt))`")
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

func TestLinks(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, doc := range documents {
		for _, m := range link.FindAllStringSubmatch(p.read(t, doc), -1) {
			if why := linkFault(t, p, doc, m[1]); why != "" {
				t.Errorf("%s: link to %s: %s", doc, m[1], why)
			}
		}
	}
	for _, bad := range []string{"docs/NOWHERE.md", "#no-such-heading", "docs/STATUS.md#no-such-heading"} {
		if linkFault(t, p, "README.md", bad) == "" {
			t.Errorf("link to %s was not refused", bad)
		}
	}
}

func linkFault(t *testing.T, p *project, doc, to string) string {
	t.Helper()
	if strings.Contains(to, "://") {
		return ""
	}
	file, anchor, _ := strings.Cut(to, "#")
	target := doc
	if file != "" {
		target = path.Join(path.Dir(doc), file)
	}
	if _, err := os.Stat(filepath.Join(p.root, target)); err != nil {
		return "no such file"
	}
	if anchor == "" {
		return ""
	}
	for _, h := range heading.FindAllStringSubmatch(p.read(t, target), -1) {
		if slug(h[1]) == anchor {
			return ""
		}
	}
	return "no such heading"
}

// slug returns the anchor that Markdown viewers derive from a heading.
func slug(h string) string {
	h = notInSlug.ReplaceAllString(strings.ToLower(strings.ReplaceAll(h, "`", "")), "")
	return strings.ReplaceAll(h, " ", "-")
}

func TestMakeTargets(t *testing.T) {
	t.Parallel()
	p := tree(t)
	targets := make(map[string]bool)
	for _, m := range makeTarget.FindAllStringSubmatch(p.read(t, "Makefile"), -1) {
		targets[m[1]] = true
		if m[2] == "" {
			t.Errorf("Makefile: target %s has no description (##), so make does not list it", m[1])
		}
	}
	for name := range strings.FieldsSeq("help run build test race sim sim-long sim-mutants bench lint fmt generate check clean") {
		if !targets[name] {
			t.Errorf("Makefile: no target %s", name)
		}
	}
	for _, doc := range documents {
		for line := range strings.SplitSeq(p.read(t, doc), "\n") {
			for _, m := range makeCall.FindAllStringSubmatch(line, -1) {
				if name := m[1] + m[2]; !targets[name] {
					t.Errorf("%s names make %s, which does not exist", doc, name)
				}
			}
		}
	}
}

// TestReadmeCommands checks that a test runs every command of the README.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	p := tree(t)
	var typed []string
	for _, m := range fence.FindAllStringSubmatch(p.read(t, "README.md"), -1) {
		if m[2] == "sh" {
			typed = append(typed, commands(m[3])...)
		}
	}
	for _, c := range typed {
		if _, ok := readmeCommands[c]; !ok {
			t.Errorf("README.md: %q is in no test: add it to one, and the pair to readmeCommands", c)
		}
	}
	for c, by := range readmeCommands {
		if !slices.Contains(typed, c) {
			t.Errorf("readmeCommands: %q is not in README.md any more", c)
		}
		if !strings.Contains(p.read(t, by.file), by.text) {
			t.Errorf("%s does not run %q", by.file, by.text)
		}
	}
}

// TestReadmeVerbs checks that a verb or flag that the README mentions exists, and that a
// test of cmd runs the verb.
func TestReadmeVerbs(t *testing.T) {
	t.Parallel()
	p := tree(t)
	var code, tests strings.Builder
	scripts, err := filepath.Glob(filepath.Join(p.root, "cmd/wasmjobd/testdata/*/*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scripts {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(b)
	}
	for _, f := range p.folders {
		if f.rel != "cmd/wasmjobd" {
			continue
		}
		for _, s := range f.files {
			if s.test {
				tests.WriteString(p.read(t, s.rel))
			} else {
				code.WriteString(p.read(t, s.rel))
			}
		}
	}
	for _, m := range verbSpan.FindAllStringSubmatch(p.read(t, "README.md"), -1) {
		if verb := m[1]; !strings.Contains(tests.String(), "wasmjobd "+verb) && !strings.Contains(tests.String(), strconv.Quote(verb)) {
			t.Errorf("README.md mentions wasmjobd %s, which no test of cmd runs", verb)
		}
	}
	for _, m := range flagSpan.FindAllStringSubmatch(p.read(t, "README.md"), -1) {
		if !strings.Contains(code.String(), strconv.Quote(m[1])) {
			t.Errorf("README.md mentions the flag --%s, which cmd does not have", m[1])
		}
	}
}

// TestDocsNamePaths checks that a path in a document exists. Packages in the table of
// layers may not exist yet.
func TestDocsNamePaths(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, doc := range documents {
		for _, m := range pathSpan.FindAllStringSubmatch(p.read(t, doc), -1) {
			rel := m[1]
			if _, err := os.Stat(filepath.Join(p.root, rel)); err == nil {
				continue
			}
			if slices.ContainsFunc(layers, func(l layer) bool { return within(rel, l.pkg) && !p.has(l.pkg) }) {
				t.Logf("%s names %s, which is not there", doc, rel)
				continue
			}
			t.Errorf("%s names %s, which does not exist", doc, rel)
		}
	}
}

// TestDocsNameFiles checks that a file that a document names without a folder exists
// somewhere.
func TestDocsNameFiles(t *testing.T) {
	t.Parallel()
	p := tree(t)
	names := map[string]bool{}
	err := filepath.WalkDir(p.root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{".git", "build"}, d.Name()) {
			return filepath.SkipDir
		}
		names[filepath.Base(name)] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, doc := range documents {
		for _, m := range fileSpan.FindAllStringSubmatch(p.read(t, doc), -1) {
			if found++; !names[m[1]] {
				t.Errorf("%s names %s, which is nowhere", doc, m[1])
			}
		}
	}
	if found < 50 || names["no_such_file.go"] {
		t.Errorf("found %d names of files, and one that is not there: %v", found, names["no_such_file.go"])
	}
}

// commands returns the commands of a shell block, with continued lines joined, and
// without comments and blank lines.
func commands(block string) []string {
	var out []string
	for line := range strings.SplitSeq(strings.ReplaceAll(block, "\\\n", " "), "\n") {
		line, _, _ = strings.Cut(line, " #")
		line = strings.Join(strings.Fields(line), " ")
		if line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// TestReadmeCode checks that code in the documents comes from files that compile and run
// in a test; the comment above the block names the file.
func TestReadmeCode(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, doc := range documents {
		for _, m := range fence.FindAllStringSubmatch(p.read(t, doc), -1) {
			switch from, lang, code := m[1], m[2], m[3]; {
			case from == "" && (lang == "go" || lang == "toml"):
				t.Errorf("%s: a block of %s does not say from which file it is", doc, lang)
			case from != "" && !strings.Contains(flat(p.read(t, from)), flat(code)):
				t.Errorf("%s: the block from %s differs from it", doc, from)
			}
		}
	}
}

// flat removes indentation, which may differ in quoted code.
func flat(code string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(code, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	if n := strings.Count(tree(t).read(t, "README.md"), "\n"); n > 200 {
		t.Errorf("README.md has %d lines, more than 200: move something to docs", n)
	}
}

// TestDeps makes a new dependency of the daemon visible in the change that adds it.
func TestDeps(t *testing.T) {
	t.Parallel()
	p := tree(t)
	if !p.has("cmd/wasmjobd") {
		t.Skip("cmd/wasmjobd is not there")
	}
	want, err := os.ReadFile(filepath.Join(p.root, "docs", "deps.txt"))
	if err != nil {
		t.Fatalf("%v: run make generate", err)
	}
	cmd := exec.CommandContext(t.Context(), "make", "--silent", "deps")
	cmd.Dir = p.root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("make deps: %v\n%s", err, stderr.String())
	}
	if !bytes.Equal(got, want) {
		t.Errorf("docs/deps.txt is not what the daemon links: run make generate and look at the difference")
	}
}

// TestNoBinaries allows only those built guests in the repository that `make run` and
// `make test` need without any toolchain: modules beside their text, and small examples
// named like their folder.
func TestNoBinaries(t *testing.T) {
	t.Parallel()
	p := tree(t)
	err := filepath.WalkDir(p.root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != p.root && skipped(d.Name()) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".wasm") {
			return nil
		}
		if _, err := os.Stat(strings.TrimSuffix(name, "sm") + "t"); err == nil {
			return nil
		}
		folder := filepath.Dir(name)
		example := filepath.Dir(folder) == filepath.Join(p.root, "plugins", "examples") && filepath.Base(folder)+".wasm" == d.Name()
		if info, err := d.Info(); err != nil || !example || info.Size() > 64<<10 {
			t.Errorf("%s: modules are built into build/, not kept in the tree", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
