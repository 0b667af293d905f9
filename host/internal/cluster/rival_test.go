package cluster_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"
)

// rival makes the requests of ElasticJob-Lite 2.1.5, one after the other, waiting for
// each answer: its own sequence of operations, without the cost of Curator and the JVM.
// Reads that ElasticJob answers from its cache are left out, but the caches of its
// members follow the job. It uses the client library directly, without our adapter.
type rival struct {
	b      *testing.B
	conn   *client.Conn
	job    string
	acl    []client.ACL
	caches []*cache
}

// txnItems is how many owners fit into one transaction. ElasticJob uses a single
// transaction for all, which servers refuse if it is too large. The rival may use
// several.
const txnItems = 5000

func newRival(b *testing.B, address, job string, members int) *rival {
	b.Helper()
	conn, _, err := client.Connect([]string{address}, 20*time.Second, client.WithLogInfo(false))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(conn.Close)
	r := &rival{b: b, conn: conn, job: "/rival-" + job, acl: client.WorldACL(client.PermAll)}
	for _, path := range []string{
		r.job, r.at("sharding"), r.at("leader"), r.at("leader", "sharding"), r.at("instances"),
		r.at("instances", "10.0.0.1@-@1"), r.at("instances", "10.0.0.2@-@1"),
	} {
		r.create(path, "", 0)
	}
	for range members {
		r.caches = append(r.caches, newCache(b, address, r.job))
	}
	return r
}

// settle waits until the caches are up to date.
func (r *rival) settle() {
	for _, c := range r.caches {
		c.wait()
	}
}

// at returns the path of a node of the job.
func (r *rival) at(names ...string) string { return r.job + "/" + strings.Join(names, "/") }

func (r *rival) item(i int, names ...string) string {
	return r.at(append([]string{"sharding", strconv.Itoa(i)}, names...)...)
}

func (r *rival) must(err error) {
	if err != nil {
		r.b.Helper()
		r.b.Fatal(err)
	}
}

func (r *rival) exists(path string) bool {
	there, _, err := r.conn.Exists(path)
	r.must(err)
	return there
}

func (r *rival) create(path, data string, flags int32) {
	_, err := r.conn.Create(path, []byte(data), flags, r.acl)
	r.must(err)
}

// remove checks whether a node exists before it deletes it, as ElasticJob does.
func (r *rival) remove(path string) {
	if r.exists(path) {
		r.must(r.conn.Delete(path, -1))
	}
}

// reshard does what ShardingService.shardingIfNecessary does in a leader that need not
// wait.
func (r *rival) reshard(items int) {
	necessary, processing := r.at("leader", "sharding", "necessary"), r.at("leader", "sharding", "processing")
	r.create(necessary, "", 0)
	instances, _, err := r.conn.Children(r.at("instances"))
	r.must(err)
	r.exists(necessary)
	r.exists(processing)
	r.create(processing, "", client.FlagEphemeral)
	for i := range items {
		r.remove(r.item(i, "instance"))
		r.exists(r.job)
		if item := r.item(i); !r.exists(item) {
			r.create(item, "", 0)
		}
	}
	_, _, err = r.conn.Children(r.at("sharding"))
	r.must(err)
	for from := 0; from < items; from += txnItems {
		ops := []any{&client.CheckVersionRequest{Path: r.job, Version: -1}}
		for i := from; i < min(from+txnItems, items); i++ {
			ops = append(ops, &client.CreateRequest{Path: r.item(i, "instance"), Data: []byte(instances[i%len(instances)]), Acl: r.acl})
		}
		if from+txnItems >= items {
			ops = append(ops, &client.DeleteRequest{Path: necessary, Version: -1}, &client.DeleteRequest{Path: processing, Version: -1})
		}
		_, err = r.conn.Multi(ops...)
		r.must(err)
	}
}

// request writes an operator's request to run, and then does what the member does that
// finds it.
func (r *rival) request() {
	instance := r.at("instances", "10.0.0.1@-@1")
	_, err := r.conn.Set(instance, []byte("TRIGGER"), -1)
	r.must(err)
	_, err = r.conn.Multi(&client.CheckVersionRequest{Path: instance, Version: -1}, &client.SetDataRequest{Path: instance, Data: []byte{}, Version: -1})
	r.must(err)
}

// fire does the bookkeeping of ExecutionService for one run of all items: it marks each
// item before the run and unmarks it afterwards.
func (r *rival) fire(items int) {
	for i := range items {
		if running := r.item(i, "running"); !r.exists(running) {
			r.create(running, "", client.FlagEphemeral)
		}
	}
	for i := range items {
		r.remove(r.item(i, "running"))
	}
}

// write sets one node, and returns how long that took.
func (r *rival) write() time.Duration {
	began := time.Now()
	_, err := r.conn.Set(r.job, nil, -1)
	r.must(err)
	return time.Since(began)
}
