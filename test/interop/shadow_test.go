package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/test/interop/check"
)

// shadow: before a team lets a server join, it runs doctor, and lets a shadow report what
// the server would run. Neither members of ElasticJob nor their registry notice.
func shadow(c *cluster) {
	c.begin(c.javaMember(javaA))
	c.joins(c.place(javaB, true))
	known := c.sessions(0)
	mark := c.lastZxid()
	place := &member{cluster: c, ip: oursA, zk: c.zk.Address()} // not a member of the job
	c.event("doctor and a shadow watch", check.Exact, nil)
	c.healthy(place)

	cmd := place.command("serve", "--shadow", "--events", "-")
	name := filepath.Join(c.dir, "shadow.jsonl")
	out, err := os.Create(name)
	if err != nil {
		c.Fatal(err)
	}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &log
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	c.steady(8)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		c.Error(err)
	}
	_ = cmd.Wait() // it ends by the signal
	if err := out.Close(); err != nil {
		c.Error(err)
	}
	c.steady(9)
	c.wouldRun(name)
	for _, bad := range []string{"assigned the items otherwise", "would not run", "ERROR"} {
		if strings.Contains(log.String(), bad) {
			c.Errorf("the shadow says %q:\n%s", bad, &log)
		}
	}
	for id := range c.sessions(mark) {
		if !known[id] {
			c.Errorf("session %x wrote below the namespace", id)
		}
	}
}

// healthy runs doctor: it sees two Java members, and no problem.
func (c *cluster) healthy(place *member) {
	c.Helper()
	out, err := place.command("doctor", "--registry", "-o", "json").Output()
	if err != nil {
		c.Errorf("doctor: %v\n%s", err, out)
		return
	}
	var report struct {
		Jobs []struct {
			Job, Layout, Leader string
			Members             []struct{ Kind string }
			Breaks, Needs       []string
		}
	}
	if err := json.Unmarshal(out, &report); err != nil || len(report.Jobs) != 1 {
		c.Fatalf("doctor: %v\n%s", err, out)
	}
	j := report.Jobs[0]
	if j.Job != jobName || j.Layout != layouts[*version] || j.Leader == "" || len(j.Members) != 2 || j.Members[0].Kind != "java" || j.Members[1].Kind != "java" || len(j.Breaks)+len(j.Needs) != 0 {
		c.Errorf("doctor says\n%s", out)
	}
}

// wouldRun checks the shadow's report: a third of the items at each instant, no instant
// left out, and exactly the items that members of ElasticJob began.
func (c *cluster) wouldRun(name string) {
	c.Helper()
	f, err := os.Open(name)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only read
	items, began := map[int64][]int{}, map[int64][]int{}
	var instants []int64
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e struct {
			Event     string
			Item      int
			Scheduled int64 `json:"scheduled_unix_ms"`
		}
		switch err := json.Unmarshal(lines.Bytes(), &e); {
		case err == nil && e.Event == "began":
			began[e.Scheduled] = append(began[e.Scheduled], e.Item)
			continue
		case err != nil || e.Event != "would_run":
			c.Fatalf("%s: %v", lines.Text(), err)
		}
		if items[e.Scheduled] == nil {
			instants = append(instants, e.Scheduled)
		}
		items[e.Scheduled] = append(items[e.Scheduled], e.Item)
	}
	step := c.job.every.Milliseconds()
	for i, at := range instants {
		if at%step != 0 || i > 0 && at != instants[i-1]+step || len(items[at]) != c.job.items/3 {
			c.Errorf("instants %v: items %v at the one of index %d", instants, items[at], i)
		}
		slices.Sort(began[at])
		if i < len(instants)-1 && !slices.Equal(items[at], began[at]) { // the shadow may have ended during the last one
			c.Errorf("at %d items %v, and seen to begin %v", at, items[at], began[at])
		}
	}
	if len(instants) < 5 {
		c.Errorf("the shadow reported %d instants", len(instants))
	}
}

// sessions returns the sessions that have written below the namespace after a
// transaction.
func (c *cluster) sessions(after int64) map[int64]bool {
	c.Helper()
	all := map[int64]bool{}
	for _, x := range c.zk.Log() {
		for _, change := range x.Changes {
			below := change.Path == "/"+c.name || strings.HasPrefix(change.Path, "/"+c.name+"/")
			if x.Zxid > after && below && change.Kind != zktest.SessionEnded && !x.OnlyChecks() {
				all[x.Session] = true
			}
		}
	}
	return all
}

func (c *cluster) lastZxid() int64 {
	c.Helper()
	all := c.zk.Log()
	return all[len(all)-1].Zxid
}
