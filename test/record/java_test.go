package record

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// buildJava returns the class path of the Java program for a release. Maven fetches the
// libraries.
func buildJava(t *testing.T, release string) string {
	t.Helper()
	if missing := absent(); len(missing) > 0 {
		t.Fatalf("no %s in PATH: apt-get install default-jdk-headless maven", strings.Join(missing, ", "))
	}
	dir := t.TempDir()
	lib, classes := filepath.Join(dir, "lib"), filepath.Join(dir, "classes")
	run(t, "mvn", "-q", "-B", "-f", "java/"+release+"/pom.xml", "dependency:copy-dependencies", "-DoutputDirectory="+lib)
	sources := []string{"../interop/java/common/interop/Settings.java"}
	for _, folder := range []string{"both", release} {
		some, err := filepath.Glob("java/" + folder + "/*.java")
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, some...)
	}
	run(t, "javac", append([]string{"-nowarn", "-proc:none", "-cp", lib + "/*", "-d", classes}, sources...)...)
	return classes + ":" + lib + "/*"
}

// absent returns the missing programs.
func absent() (names []string) {
	for _, name := range []string{"java", "javac", "mvn"} {
		if _, err := exec.LookPath(name); err != nil {
			names = append(names, name)
		}
	}
	return names
}

// TestAbsent checks that Java and Maven are reported as missing.
func TestAbsent(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if got := strings.Join(absent(), " "); got != "java javac mvn" {
		t.Errorf("absent are %q", got)
	}
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// process is a running Java program.
type process struct {
	name string
	cmd  *exec.Cmd
	argv []string
	ask  io.Writer // its input

	launched, signalled time.Time

	mu    sync.Mutex // guards lines
	lines []map[string]any
	other []string // lines that are not JSON
	ended chan struct{}
}

// launch starts a class of the Java program. A small heap and the simple compiler leave
// the machine to the other processes.
func (s *stage) launch(name, class string, settings ...string) *process {
	s.t.Helper()
	args := append([]string{
		"-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC", "-Dfile.encoding=UTF-8",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", s.classpath, class,
	}, settings...)
	p := &process{name: name, cmd: exec.Command("java", args...), argv: settings, ended: make(chan struct{})}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	log, err := os.Create(filepath.Join(s.t.TempDir(), "log"))
	if err != nil {
		s.t.Fatal(err)
	}
	p.cmd.Stderr = log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if p.ask, err = p.cmd.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	p.launched = time.Now()
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.said(lines.Text())
		}
		_ = p.cmd.Wait() // it was killed, or its last writes show how it ended
		_ = log.Close()
	}()
	s.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
		if text, err := os.ReadFile(log.Name()); err == nil && s.t.Failed() {
			s.t.Logf("%s: %s", name, text[:min(len(text), 4000)])
		}
	})
	return p
}

func (p *process) said(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var said map[string]any
	if json.Unmarshal([]byte(line), &said) != nil {
		p.other = append(p.other, line)
		return
	}
	p.lines = append(p.lines, said)
}

// count returns how often a process has printed a word.
func (p *process) count(words ...string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines {
		if strings.Contains(strings.Join(words, " "), fmt.Sprint(l["ev"])) {
			n++
		}
	}
	return n
}

func (p *process) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	if p.signalled.IsZero() {
		p.signalled = time.Now()
	}
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// feed writes a line to the input of the process.
func (p *process) feed(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(p.ask, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// alone reports whether a process was running at a time and had got no signal.
func (p *process) alone(at time.Time) bool {
	return at.After(p.launched) && (p.signalled.IsZero() || at.Before(p.signalled))
}
