package interop

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/test/interop/check"
)

// report ends the timeline at the newest completed tick, and checks it.
func (c *cluster) report() check.Report {
	c.Helper()
	to := time.Now().UnixMilli()
	if len(c.spans) > 0 && c.last().Every != 0 {
		every := c.last().Every
		to -= to%every + every
		c.await("the last tick to end", func() bool { return time.Now().UnixMilli() > to+2*every })
	}
	for _, m := range c.members {
		if m.up() {
			m.stop()
		}
	}
	in := check.Input{Spans: c.spans, To: to, Frozen: c.frozen, Session: c.job.session.Milliseconds(), Log: c.changes()}
	in.Runs, in.JavaLines = c.output()
	for _, m := range c.members {
		if !m.java {
			in.Gaps = append(in.Gaps, m.gaps()...)
		}
	}
	r := check.Runs(in)
	r.Rows = append(r.Rows, c.rows...)
	return r
}

// changes returns ZooKeeper's log of the nodes below the job's.
func (c *cluster) changes() []check.Change {
	c.Helper()
	var all []check.Change
	for _, t := range c.zk.Log() {
		for _, ch := range t.Changes {
			path, ok := strings.CutPrefix(ch.Path, c.path(""))
			if ok && (ch.Kind == zktest.Created || ch.Kind == zktest.Set || ch.Kind == zktest.Deleted) {
				all = append(all, check.Change{At: t.Time.UnixMilli(), Session: t.Session, Path: path, Data: string(ch.Data), Gone: ch.Kind == zktest.Deleted})
			}
		}
	}
	return all
}

// keep writes ZooKeeper's log of the job to the scenario's folder, to help explain a
// fault.
func (c *cluster) keep() {
	c.Helper()
	var out strings.Builder
	for _, t := range c.zk.Log() {
		for _, ch := range t.Changes {
			if strings.HasPrefix(ch.Path, "/"+c.name+"/") {
				fmt.Fprintf(&out, "%s %x %d %s %.300q (kind %d, code %d)\n", t.Time.UTC().Format("15:04:05.000"), t.Session, t.Zxid, ch.Path, ch.Data, ch.Kind, ch.Code)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(c.dir, "zookeeper.log"), []byte(out.String()), 0o600); err != nil {
		c.Error(err)
	}
	c.Logf("what everybody wrote is in %s", c.dir)
}

// dump logs the job's nodes, to help explain a fault.
func (c *cluster) dump() {
	c.Helper()
	var out strings.Builder
	c.write(&out, "")
	c.Log("\n" + out.String())
}

func (c *cluster) write(out io.Writer, below string) {
	n, err := c.registry.Read(c.Context(), strings.TrimSuffix(c.path(below), "/"))
	if err != nil || !n.Exists {
		return
	}
	fmt.Fprintf(out, "%s = %.200s (owner %x)\n", below, n.Data, n.Stat.Owner)
	for _, child := range n.Children {
		c.write(out, strings.TrimPrefix(below+"/"+child, "/"))
	}
}
