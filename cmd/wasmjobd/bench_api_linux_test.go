package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

const withPort = `[admin]
listen = "127.0.0.1:0"
`

const benchServer = `[server]
ip = "127.0.0.%[1]d"
data_dir = "%[1]d"
peer_listen = "127.0.0.1:0"
peer_token = "env:PEER_TOKEN"

%[4]s
[registry]
kind = "zookeeper"
servers = [%[2]q]
namespace = "jobs"

[modules.says]
source = "file:%[3]s"

[jobs.says]
module = "says"
schedule = "manual"
shards = 3
`

// BenchmarkAPIUpload gives three servers on a ZooKeeper a module of 100 KB that none of them
// has, with the commands of a user, and runs it on all of them. It measures the time from the
// upload to the end of the module's first run, as a server reports it for all three, and how
// late the report comes.
func BenchmarkAPIUpload(b *testing.B) {
	zk := zktest.Start(b, zktest.Debian(b), zktest.Options{})
	wasm, err := filepath.Abs("../../abi/conformance/wat/ok.wasm")
	if err != nil {
		b.Fatal(err)
	}
	module, err := os.ReadFile(wasm)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	var servers []string
	for n := 1; n <= 3; n++ {
		config := fmt.Sprintf("%d.toml", n)
		if err := os.WriteFile(filepath.Join(dir, config), fmt.Appendf(nil, benchServer, n, zk.Address(), wasm, withPort), 0o600); err != nil {
			b.Fatal(err)
		}
		logged := []string{"ready", "callers with a token reach this server", "this cluster had no token; the first one permits everything"}
		if n > 1 {
			logged = logged[:2]
		}
		s := benchServe(b, dir, config, logged...)
		servers = append(servers, s.address)
	}
	token := filepath.Join(dir, "1", firstToken)
	secret, err := os.ReadFile(token)
	if err != nil {
		b.Fatal(err)
	}
	followed, ended := make(chan struct{}), make(chan ending, 100)
	go reportEnds(b, servers[2], strings.TrimSpace(string(secret)), followed, ended)
	select {
	case <-followed:
	case <-time.After(time.Minute):
		b.Fatal("no events can be followed")
	}
	var took, late []time.Duration
	for b.Loop() {
		path := filepath.Join(dir, "next.wasm")
		if err := os.WriteFile(path, padded(module, 100_000), 0o600); err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		benchRun(b, dir, "module", "set", "says", path, "--address", servers[0], "--token-file", token)
		benchRun(b, dir, "job", "trigger", "says", "--address", servers[0], "--token-file", token)
		for range 3 {
			select {
			case one := <-ended:
				late = append(late, one.late)
				if one.state != "succeeded" {
					b.Fatalf("a run ended as %s", one.state)
				}
			case <-time.After(time.Minute):
				b.Fatal("the stream tells nothing of the end of an item")
			}
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	slices.Sort(late)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms<=2000")
	b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "most-ms")
	b.ReportMetric(float64(late[len(late)*95/100].Milliseconds()), "event-p95-ms<=100")
}

// ending is how a run ended, and how late its event came.
type ending struct {
	state string
	late  time.Duration
}

// BenchmarkAPIAtRest compares idle servers that listen for API requests with servers that do
// not.
func BenchmarkAPIAtRest(b *testing.B) {
	zk := zktest.Start(b, zktest.Debian(b), zktest.Options{})
	wasm, err := filepath.Abs("../../abi/conformance/wat/ok.wasm")
	if err != nil {
		b.Fatal(err)
	}
	var memory, cpu [2][]float64
	for b.Loop() {
		for ported, port := range []string{"", withPort} {
			dir := b.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "1.toml"), fmt.Appendf(nil, benchServer, 1, zk.Address(), wasm, port), 0o600); err != nil {
				b.Fatal(err)
			}
			s := benchServe(b, dir, "1.toml", "ready")
			<-time.After(2 * time.Second) // the start is over
			before := s.ticks(b)
			<-time.After(10 * time.Second) // the period whose processor time is measured
			cpu[ported] = append(cpu[ported], float64(s.ticks(b)-before))
			memory[ported] = append(memory[ported], s.resident(b))
			s.stop()
		}
	}
	for ported := range memory {
		slices.Sort(memory[ported])
		slices.Sort(cpu[ported])
	}
	middle := len(cpu[0]) / 2
	b.ReportMetric(cpu[0][middle], "without-cpu-ms/s") // a tick is 10 ms, and there are ten seconds
	b.ReportMetric(cpu[1][middle], "with-cpu-ms/s")
	b.ReportMetric(memory[0][middle], "without-MiB")
	b.ReportMetric(memory[1][middle]-memory[0][middle], "more-MiB<=10")
}

// ticks returns the processor time of the process, in hundredths of a second.
func (s benched) ticks(b *testing.B) int64 {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process))
	if err != nil {
		b.Fatal(err)
	}
	_, behind, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(behind) // the first is the third of proc(5)
	var sum int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += n
	}
	return sum
}

// resident returns the memory of the process in MiB.
func (s benched) resident(b *testing.B) float64 {
	b.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.process))
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return float64(pages) * float64(os.Getpagesize()) / (1 << 20)
}

// padded returns a module of the given size, padded with an unused section.
func padded(module []byte, size int) []byte {
	noise := make([]byte, size-len(module)-6)
	_, _ = rand.Read(noise)
	noise[0] = 0 // the section has no name
	n := len(noise)
	return append(append(slices.Clone(module), 0, byte(n&0x7f|0x80), byte(n>>7&0x7f|0x80), byte(n>>14)), noise...)
}

func benchCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "wasmjobd", args...)
	c.Dir, c.Env = dir, append(os.Environ(), "PEER_TOKEN=open-sesame", "WASMJOBD_SERVER__LOG__FORMAT=json")
	return c
}

func benchRun(b *testing.B, dir string, args ...string) {
	b.Helper()
	if out, err := benchCommand(b.Context(), dir, args...).CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// benched is a server that a benchmark has started.
type benched struct {
	process int
	address string // "" if it does not listen
	stop    func()
}

// benchServe starts a server, and returns when it has logged these messages.
func benchServe(b *testing.B, dir, config string, logged ...string) (s benched) {
	b.Helper()
	c := benchCommand(context.WithoutCancel(b.Context()), dir, "serve", "--config", config)
	log, err := c.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	s.stop = sync.OnceFunc(func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
	})
	b.Cleanup(s.stop)
	s.process = c.Process.Pid
	lines := bufio.NewScanner(log)
	for len(logged) > 0 {
		var line struct{ Msg, Address string }
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &line) != nil {
			b.Fatalf("a server has ended before it said %q", logged)
		}
		logged = slices.DeleteFunc(logged, func(message string) bool { return message == line.Msg })
		if line.Msg == "callers with a token reach this server" {
			s.address = "http://" + line.Address
		}
	}
	go func() {
		for lines.Scan() { // read on, or the server would lose lines
		}
	}()
	return s
}

// reportEnds follows the events of a server, and reports for each end of a run how late its
// event is. It reconnects when the server has ended a stream.
func reportEnds(b *testing.B, address, token string, followed chan<- struct{}, ended chan<- ending) {
	last := ""
	for {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address+"/api/v1/events", http.NoBody)
		if err != nil {
			b.Error(err)
			return
		}
		r.Header.Set("Authorization", "Bearer "+token)
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
		answer, err := http.DefaultClient.Do(r)
		if b.Context().Err() != nil {
			return
		}
		if err != nil {
			b.Errorf("events of %s: %v", address, err)
			return
		}
		if answer.StatusCode == http.StatusServiceUnavailable { // it has just started, and cannot check the token yet
			_ = answer.Body.Close()
			<-time.After(50 * time.Millisecond)
			continue
		}
		if answer.StatusCode != http.StatusOK {
			_ = answer.Body.Close()
			b.Errorf("events of %s: %s", address, answer.Status)
			return
		}
		if followed != nil {
			close(followed)
			followed = nil
		}
		last = endsOf(answer.Body, last, ended)
		_ = answer.Body.Close()
	}
}

// endsOf reads a stream of events to its end, and returns the id of the last one.
func endsOf(stream io.Reader, last string, ended chan<- ending) string {
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			last = id
		}
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		var e eventLine
		if ok && json.Unmarshal(data, &e) == nil && e.Event == "end" {
			ended <- ending{e.State, time.Since(time.UnixMilli(e.UnixMS))}
		}
	}
	return last
}
