package interop

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// buildDir returns the directory of what is built, and of what the scenarios leave.
func buildDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../../build/interop")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func leaveOut(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("WASMJOBD_STRICT") == "1" {
		t.Fatal(why)
	}
	t.Skip("left out: " + why)
}

// buildJava returns the class path of the Java program of a release. Maven builds it once
// for each state of its sources.
func buildJava(t testing.TB) string {
	t.Helper()
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			leaveOut(t, "no "+tool+" in PATH: apt-get install default-jdk-headless maven")
		}
	}
	sum := sha256.New()
	pom := filepath.Join("java", *version, "pom.xml")
	for _, dir := range []string{"java/common", filepath.Dir(pom)} {
		err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(filepath.Join(dir, name))
			sum.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	lock, err := os.OpenFile(filepath.Join(buildDir(t), "java.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }() // closing it releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(buildDir(t), "java-"+hex.EncodeToString(sum.Sum(nil)[:6]))
	if _, err := os.Stat(dir); err != nil {
		work := t.TempDir()
		cmd := exec.CommandContext(t.Context(), "mvn", "-q", "-B", "-f", pom, "-Dout="+work+"/java", "package")
		if out, err := cmd.CombinedOutput(); err != nil {
			leaveOut(t, fmt.Sprintf("build the Java program: %v\n%s", err, out))
		}
		if err := os.CopyFS(dir+"-new", os.DirFS(work+"/java")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir+"-new", dir); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "interop.jar") + ":" + filepath.Join(dir, "lib", "*")
}

// java returns the command of one of its classes. A small heap and the simple compiler
// leave the machine to the other processes.
func java(classpath, class string, settings ...string) *exec.Cmd {
	args := append([]string{"-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC",
		"-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS", "-cp", classpath, class}, settings...)
	cmd := exec.Command("java", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// operator is a Java process that acts like an operator at ElasticJob's console.
type operator struct {
	mu  sync.Mutex // one request at a time
	in  io.Writer
	out *bufio.Reader
}

func startOperator(t testing.TB, classpath, zk, log string) *operator {
	t.Helper()
	cmd := java(classpath, "interop.Operator", "zk="+zk)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = file
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait(), file.Close()); err != nil {
			t.Errorf("the Java operator: %v", err)
		}
	})
	return &operator{in: in, out: bufio.NewReader(out)}
}

// ask runs one command.
func (o *operator) ask(namespace, job string, words ...string) error {
	_, err := o.call(namespace, job, words...)
	return err
}

// call runs one command, and returns the library's answer.
func (o *operator) call(namespace, job string, words ...string) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	line := strings.Join(append([]string{namespace, job}, words...), " ")
	if _, err := io.WriteString(o.in, line+"\n"); err != nil {
		return "", fmt.Errorf("ask the Java operator: %w", err)
	}
	answer, err := o.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("ask the Java operator: %w", err)
	}
	said, ok := strings.CutPrefix(strings.TrimSpace(answer), "done")
	if !ok {
		return "", fmt.Errorf("the Java operator was asked for %q and %s", line, strings.TrimSpace(answer))
	}
	return strings.TrimSpace(said), nil
}
