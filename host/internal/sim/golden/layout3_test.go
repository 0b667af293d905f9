package golden

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hosts "github.com/wasmjob/wasmjob/host/internal/cluster"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/job/recorded"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

const cron3 = "0 0 3 1 1 ? 2090"

// job3 is the job of the recordings of 3.0.4.
func job3(param string, failover bool) job.Config {
	return job.Config{
		Name: "job", Layout: job.Layout3, Kind: job.Simple, Class: "peer.PeerSimpleJob", Cron: cron3, Shards: 6, ItemParams: "0=a,1=b,2=c,3=d,4=e,5=f", Param: param,
		Failover: failover, Misfire: true, MonitorExecution: true, MaxClockSkew: -1, ReconcileEvery: 10 * time.Minute,
		Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, Unsaid: []string{"strategy"},
	}
}

// start3 runs the job on three servers with a guest for each item that does not end.
func start3(t *testing.T, server *zktest.Server, namespace, param string, failover bool) (*hosts.Cluster, map[string]*hosts.Member) {
	t.Helper()
	c := hosts.In(t, server, layout.New(job.Layout3, namespace, "job"), namespace)
	c.Hold()
	members := map[string]*hosts.Member{}
	for _, ip := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"} {
		members[ip] = c.Start(hosts.Options{Instance: job.InstanceID(ip + "@-@1"), Job: job3(param, failover)})
	}
	c.Await("an assignment to all three", func(s hosts.State) bool {
		return len(s.View.Assignment.Members) == 3 && !s.View.Necessary
	})
	if err := members["10.0.0.1"].Host.Trigger(t.Context(), "job"); err != nil {
		t.Fatal(err)
	}
	c.Await("guests of all items", func(s hosts.State) bool { return len(s.Guests) == 6 })
	return c, members
}

// Servers of ours leave the same nodes of layout 3 as members of ElasticJob 3.0.4 did at
// the same moment, when three members ran six items. In addition there are the parent of
// requests, the queue of the latch, and our own nodes.
func TestServedLayout3(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Debian(t), zktest.Options{})
	for name, is := range map[string]struct {
		file, moment, param string
		failover            bool
	}{
		"without failover": {"ej3/basic.json", "during execution (monitorExecution, all 6 items running)", "p", false},
		"with failover":    {"ej3/failover.json", "all running, before the kill", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := start3(t, server, "g3-"+strings.Fields(name)[0], is.param, is.failover)
			ours := map[string]string{}
			c.Tree(c.Job().Root(), func(path string, n registry.Node) {
				if rel := strings.TrimPrefix(path, c.Job().Root()); !strings.HasPrefix(rel, "/wasm") && rel != "/trigger" {
					ours[rel] = said3(string(n.Data), n.Stat.Owner != 0)
				}
			})
			theirs := moment3(t, is.file, is.moment)
			for _, nodes := range []map[string]string{ours, theirs} { // in ElasticJob's tree the server deletes an empty queue
				maps.DeleteFunc(nodes, func(path, _ string) bool { return strings.HasSuffix(path, "/latch") })
			}
			if d := cmp.Diff(theirs, ours); d != "" {
				t.Errorf("theirs and ours differ:\n%s", d)
			}
		})
	}
}

var (
	process = regexp.MustCompile(`@-@\d+`)
	theCron = regexp.MustCompile(`cron: .*`)
)

// said3 returns a node's value with ids without the process, and with the cron of our job.
func said3(data string, ephemeral bool) string {
	return fmt.Sprintf("%v %s", ephemeral, theCron.ReplaceAllString(process.ReplaceAllString(data, "@-@1"), "cron: "+cron3))
}

// moment3 returns the nodes of a recording at a moment, by their paths below the job.
func moment3(t *testing.T, file, name string) map[string]string {
	t.Helper()
	var all struct {
		Moments []struct {
			Name string
			Tree []struct {
				Path, Data string
				Ephemeral  bool
			}
		}
	}
	if err := json.Unmarshal(recorded.Golden(t, file), &all); err != nil {
		t.Fatal(err)
	}
	nodes := map[string]string{}
	for _, m := range all.Moments {
		if m.Name != name {
			continue
		}
		for _, n := range m.Tree[1:] { // the first is the namespace
			_, rel, _ := strings.Cut(n.Path, "/job")
			nodes[process.ReplaceAllString(rel, "@-@1")] = said3(n.Data, n.Ephemeral)
		}
	}
	if len(nodes) == 0 {
		t.Fatalf("%s has no moment %q", file, name)
	}
	return nodes
}

// The runs of a dead member are taken once, the taker writes both nodes, and no mark of the
// dead member or of the taker stays.
func TestTakeOverInLayout3(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Debian(t), zktest.Options{})
	c, members := start3(t, server, "g3-death", "", true)
	members["10.0.0.2"].Kill()
	taken := c.Await("items 2 and 3 on other servers", func(s hosts.State) bool {
		n := 0
		for _, g := range s.Guests {
			if (g.Item == 2 || g.Item == 3) && g.Instance != "10.0.0.2@-@1" {
				n++
			}
		}
		return n == 2
	})
	for _, g := range taken.Guests {
		if g.Item != 2 && g.Item != 3 || g.Instance == "10.0.0.2@-@1" {
			continue
		}
		for _, mark := range []string{"failover", "failovering", "running"} {
			path := c.Job().At(c.Job().ItemNode(g.Item)) + "/" + mark
			if n := c.Read(path); string(n.Data) != string(g.Instance) || (n.Stat.Owner != 0) != (mark == "failover") {
				t.Errorf("%s: %q, session %#x, want %s", path, n.Data, n.Stat.Owner, g.Instance)
			}
		}
	}
	c.Release()
	c.Await("no mark and no request", func(s hosts.State) bool {
		for _, it := range s.View.Items {
			if it.Marked() || it.Failover != "" {
				return false
			}
		}
		return len(s.Guests) == 0 && len(s.View.Unanswered) == 0
	})
	for item := range 6 {
		runs := 0
		for _, call := range c.State().Calls {
			if call.Item == item {
				runs++
			}
		}
		if want := 1 + (item/2)%2; runs != want {
			t.Errorf("item %d ran %d times, want %d", item, runs, want)
		}
		for _, mark := range []string{"failover", "failovering", "running"} {
			if path := c.Job().At(c.Job().ItemNode(item)) + "/" + mark; c.Read(path).Exists {
				t.Errorf("%s stays", path)
			}
		}
	}
}
