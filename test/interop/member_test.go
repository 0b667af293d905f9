package interop

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/test/interop/check"
)

// member is the place of a member: an address, and its successive processes.
type member struct {
	cluster *cluster
	ip      string
	java    bool
	zk      string        // the address of ZooKeeper
	proxy   *zktest.Proxy // in front of that; nil if none
	outputs []string      // the output of each process of a Java member
	running *process
}

// process is one process of a member.
type process struct {
	cmd   *exec.Cmd
	asked bool // it was asked to end
	ended chan struct{}
	err   error // valid once ended is closed
}

// start starts a process. settings replace those of the job for this member.
func (m *member) start(settings ...string) {
	c := m.cluster
	c.Helper()
	log, err := os.OpenFile(filepath.Join(c.dir, m.ip+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.Fatal(err)
	}
	var cmd *exec.Cmd
	var out *os.File
	if m.java {
		c.lives++
		name := filepath.Join(c.dir, fmt.Sprintf("%s-%d.out", m.ip, c.lives))
		if out, err = os.Create(name); err != nil {
			c.Fatal(err)
		}
		m.outputs = append(m.outputs, name)
		cmd = java(c.classpath, "interop.Member", append(c.job.settings(m), settings...)...)
		cmd.Stdout = out
	} else {
		cmd = m.command("serve")
		cmd.Env = append(cmd.Env, settings...)
		cmd.Stdout = log
	}
	cmd.Stderr = log
	p := &process{cmd: cmd, ended: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.err = errors.Join(cmd.Wait(), log.Close())
		if out != nil {
			p.err = errors.Join(p.err, out.Close())
		}
	}()
	m.running = p
}

// command returns a command of our program with the configuration of this server.
func (m *member) command(args ...string) *exec.Cmd {
	c := m.cluster
	c.Helper()
	file := filepath.Join(c.dir, m.ip+".toml")
	if err := os.WriteFile(file, []byte(c.job.toml(m)), 0o600); err != nil {
		c.Fatal(err)
	}
	cmd := exec.Command(*program, append(args, "--config", file)...)
	cmd.Env = append(os.Environ(), "ZK_DIGEST="+c.job.digest)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// signal signals the process, which may have ended already.
func (m *member) signal(s syscall.Signal) { _ = m.running.cmd.Process.Signal(s) }

// kill ends the process like a power failure.
func (m *member) kill() {
	m.running.asked = true
	m.signal(syscall.SIGKILL)
	<-m.running.ended
}

// stop asks the process to end and waits until it has.
func (m *member) stop() {
	m.cluster.Helper()
	m.running.asked = true
	m.signal(syscall.SIGTERM)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-m.running.ended:
	case <-late.C:
		m.kill()
		m.cluster.Errorf("%s does not stop\n%s", m.ip, m.log())
	}
}

// up reports whether the member's process runs.
func (m *member) up() bool {
	if m.running == nil {
		return false
	}
	select {
	case <-m.running.ended:
		return false
	default:
		return true
	}
}

// holder starts a client that takes a latch. Its session lasts longer than others.
func (m *member) holder(latch string) *exec.Cmd {
	c := m.cluster
	c.Helper()
	cmd := java(c.classpath, "interop.Holder", "zk="+m.zk, "latch="+latch, fmt.Sprint("session=", 2*c.job.session.Milliseconds()))
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil { // the client ends when its input is closed
		c.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		c.Fatalf("the holder of the latch said %q: %v", line, err)
	}
	return cmd
}

// allLog returns the log of the process.
func (m *member) allLog() string {
	text, err := os.ReadFile(filepath.Join(m.cluster.dir, m.ip+".log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// log returns the end of the log.
func (m *member) log() string {
	text := m.allLog()
	return text[max(0, len(text)-1500):]
}

// gaps returns our server's rows about instants that did not run to their end.
func (m *member) gaps() []check.Gap {
	c := m.cluster
	c.Helper()
	var gaps []check.Gap
	for cursor := ""; ; {
		out, err := m.command("history", "list", "-o", "json", "--limit", "1000", "--cursor", cursor).Output()
		if err != nil {
			c.Errorf("read the history of %s: %v", m.ip, err)
			return nil
		}
		var page struct {
			Rows []struct {
				Item    int
				Instant int64 `json:"instant_unix_ms"`
				Last    int64 `json:"last_unix_ms"`
				State   string
			}
			Next string
		}
		if err := json.Unmarshal(out, &page); err != nil {
			c.Errorf("read the history of %s: %v", m.ip, err)
			return nil
		}
		for _, r := range page.Rows {
			if r.State != "succeeded" {
				gaps = append(gaps, check.Gap{Item: r.Item, First: r.Instant, Last: max(r.Instant, r.Last)})
			}
		}
		if cursor = page.Next; cursor == "" {
			return gaps
		}
	}
}

// definition is a job as both sides define it.
type definition struct {
	cron     string
	every    time.Duration // between its instants; 0 if only triggers run it
	items    int
	work     time.Duration // of an item
	failover bool
	misfire  bool
	digest   string
	once     time.Duration // how long members of ElasticJob wait for each other
	session  time.Duration
	params   string // of items; work if empty
	java     string // further settings of Java members, separated by |
	ours     string // further lines of our servers, instead of usualOurs
}

// usualOurs is the configuration that our servers need together with members of
// ElasticJob.
const usualOurs = `class = "interop.Work"
timezone = "UTC"
`

// jobName is the name of every job here; the namespaces differ.
const jobName = "mixed"

// never is a cron whose instants are far in the future.
const never = "0 0 0 1 1 ? 2090"

func (d definition) parameters() string {
	if d.params != "" {
		return d.params
	}
	var all []string
	for i := range d.items {
		all = append(all, fmt.Sprintf("%d=%d", i, d.work.Milliseconds()))
	}
	return strings.Join(all, ",")
}

// settings returns the arguments of a Java member.
func (d definition) settings(m *member) []string {
	all := []string{
		"zk=" + m.zk, "namespace=" + m.cluster.name, "ip=" + m.ip, "job=" + jobName, "cron=" + d.cron, "total=" + strconv.Itoa(d.items), "params=" + d.parameters(),
		"failover=" + strconv.FormatBool(d.failover), "misfire=" + strconv.FormatBool(d.misfire), "digest=" + d.digest,
		"session=" + strconv.FormatInt(d.session.Milliseconds(), 10), "once=" + strconv.FormatInt(d.once.Milliseconds(), 10),
	}
	if d.java != "" {
		all = append(all, strings.Split(d.java, "|")...)
	}
	return all
}

// toml returns the configuration of one of our servers.
func (d definition) toml(m *member) string {
	c, ip := m.cluster, m.ip
	digest := ""
	if d.digest != "" {
		digest = `digest = "env:ZK_DIGEST"`
	}
	ours := d.ours
	if ours == "" {
		ours = usualOurs
	}
	schedule := fmt.Sprintf("cron = %q", d.cron)
	if d.cron == "" {
		schedule = `schedule = "manual"`
	}
	return fmt.Sprintf(`schema = 1
[server]
ip = %q
data_dir = %q
log = { level = "debug", format = "json" }
[registry]
kind = "zookeeper"
servers = [%q]
namespace = %q
session_timeout = %q
%s
[history]
dsn = "sqlite://%s"
[host.allow]
dirs = ["rw:%s"]
clock = "real"
[modules.guest]
source = "file:%s"
[jobs.%s]
layout = %q
module = "guest"
%s
shards = %d
item_params = %q
failover = %v
misfire = %v
%s
allow = { dirs = ["rw:%s:/evidence"], clock = "real" }
`, ip, filepath.Join(c.dir, "data-"+ip), m.zk, c.name, d.session, digest, filepath.Join(c.dir, ip+".db"), c.evidence, filepath.Join(buildDir(c), "guest.wasm"),
		jobName, layouts[*version], schedule, d.items, d.parameters(), d.failover, d.misfire, ours, c.evidence)
}
