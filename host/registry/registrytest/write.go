package registrytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/wasmjob/wasmjob/host/registry"
)

var writeTests = []subtest{
	{"create, set and delete show in reads", testBasics},
	{"versions count sets and restart with a new node", testVersions},
	{"revisions order the transactions", testRevisions},
	{"later ops see earlier ones", testOpsInOrder},
	{"sequential names count up", testSequential},
	{"a parent can go with its children in one transaction", testDeleteParents},
	{"children come in ascending order", testChildrenOrder},
	{"a thousand ops are one transaction", testManyOps},
	{"large data comes back whole", testLargeData},
	{"callers may reuse their memory", testAliasing},
	{"increments by version lose nothing", testIncrements},
	{"a context that is over commits nothing", testCancelled},
}

// testBasics creates, sets and deletes a node.
func testBasics(f *fixture) {
	a := f.path("a")
	if n := f.main.read(a); n.Exists || len(n.Children) > 0 {
		f.Errorf("absent node: %+v", n)
	}
	if got := f.main.commit(create(a, "one")); got.Results[0].Path != a {
		f.Errorf("receipt of the create: %+v", got)
	}
	if n := f.main.read(a); !n.Exists || string(n.Data) != "one" || n.Stat.Owner != 0 {
		f.Errorf("created: %+v", n)
	}
	f.main.commit(set(a, "", registry.AnyVersion), create(a+"/b", ""))
	if n := f.main.read(a); !n.Exists || len(n.Data) != 0 || !slices.Equal(n.Children, []string{"b"}) {
		f.Errorf("set to nothing: %+v", n)
	}
	f.main.commit(remove(a+"/b"), remove(a))
	if n := f.main.read(a); n.Exists {
		f.Errorf("deleted: %+v", n)
	}
}

// testVersions counts the sets of a node and the changes of its list of children.
func testVersions(f *fixture) {
	a := f.path("a")
	f.main.commit(create(a, ""))
	if got := f.main.commit(set(a, "x", 0)).Results[0].Version; got != 1 {
		f.Errorf("version after the first set: %d", got)
	}
	got := f.main.commit(set(a, "x", registry.AnyVersion), set(a, "x", 2))
	if got.Results[0].Version != 2 || got.Results[1].Version != 3 {
		f.Errorf("versions after two sets: %+v", got.Results)
	}
	f.main.commit(check(a, 3), check(a, registry.AnyVersion))
	f.main.commit(create(a+"/k", ""), remove(a+"/k"))
	if s := f.main.read(a).Stat; s.Version != 3 || s.ChildVersion != 2 {
		f.Errorf("after a child came and went: %+v", s)
	}
	f.main.commit(remove(a), create(a, ""))
	if s := f.main.read(a).Stat; s.Version != 0 || s.ChildVersion != 0 {
		f.Errorf("re-created: %+v", s)
	}
}

// testRevisions compares the revisions of a node with those of the transactions that changed it
// or its children.
func testRevisions(f *fixture) {
	a, b := f.path("a"), f.path("b")
	f.main.commit(create(a, ""), create(b, ""))
	born := f.main.read(a).Stat
	if born.Created != born.Modified || born.Created != f.main.read(b).Stat.Created {
		f.Errorf("born together: %+v", born)
	}
	first := f.main.commit(set(a, "", registry.AnyVersion), set(b, "", registry.AnyVersion)).Revision
	sa, sb := f.main.read(a).Stat, f.main.read(b).Stat
	if first <= born.Created || sa.Modified != first || sb.Modified != first || sa.Created != born.Created {
		f.Errorf("set at %d: %+v %+v", first, sa, sb)
	}
	f.main.commit(create(a+"/k", ""))
	second := f.main.commit(set(b, "", registry.AnyVersion)).Revision
	sa = f.main.read(a).Stat
	if !(first < sa.ChildrenChanged && sa.ChildrenChanged < second) || sa.Modified != first {
		f.Errorf("child made between %d and %d: %+v", first, second, sa)
	}
	made := sa.ChildrenChanged
	f.main.commit(set(a+"/k", "", registry.AnyVersion))
	if got := f.main.read(a).Stat.ChildrenChanged; got != made {
		f.Errorf("a set of the child moved its parent from %d to %d", made, got)
	}
	f.main.commit(remove(a + "/k"))
	if got := f.main.read(a).Stat.ChildrenChanged; got <= second {
		f.Errorf("child gone after %d, parent says %d", second, got)
	}
}

// testOpsInOrder sends a transaction in which each op is refused unless it sees those before it.
func testOpsInOrder(f *fixture) {
	a := f.path("a")
	f.main.commit(
		absent(a), create(a, "1"), check(a, 0), set(a, "2", 0), check(a, 1),
		create(a+"/k", ""), remove(a+"/k"), remove(a), absent(a), create(a, "3"))
	if n := f.main.read(a); string(n.Data) != "3" || n.Stat.Version != 0 {
		f.Errorf("%+v", n)
	}
}

// testSequential creates sequential nodes of both kinds. Deleted nodes count on in the numbers.
func testSequential(f *fixture) {
	q := f.path("q")
	f.main.commit(create(q, ""))
	next := func(kind registry.OpKind, prefix, want string) {
		f.Helper()
		got := f.main.commit(registry.Op{Kind: kind, Path: q + "/" + prefix, Data: []byte("d")}).Results[0].Path
		if got != q+"/"+want {
			f.Errorf("name %s, want %s", got, want)
		}
		if n := f.main.read(got); string(n.Data) != "d" || (n.Stat.Owner != 0) != (kind == registry.CreateEphemeralSequential) {
			f.Errorf("%s: %+v", got, n)
		}
	}
	next(registry.CreateSequential, "n-", "n-0000000000")
	next(registry.CreateEphemeralSequential, "n-", "n-0000000001")
	next(registry.CreateSequential, "", "0000000002")
	f.main.commit(remove(q+"/n-0000000000"), remove(q+"/n-0000000001"), remove(q+"/0000000002"))
	next(registry.CreateSequential, "m-", "m-0000000003")
	got := f.main.commit(
		registry.Op{Kind: registry.CreateSequential, Path: q + "/x-"},
		registry.Op{Kind: registry.CreateSequential, Path: q + "/x-"}).Results
	if got[0].Path != q+"/x-0000000004" || got[1].Path != q+"/x-0000000005" {
		f.Errorf("two in one transaction: %+v", got)
	}
}

// testDeleteParents deletes nodes in one transaction, each after those below it.
func testDeleteParents(f *fixture) {
	a := f.path("a")
	f.main.commit(create(a, ""), create(a+"/b", ""), create(a+"/b/c", ""))
	f.main.commit(remove(a+"/b/c"), remove(a+"/b"), remove(a))
	if n := f.main.read(f.root); len(n.Children) > 0 {
		f.Errorf("left: %v", n.Children)
	}
}

// testChildrenOrder creates children whose names are not in order.
func testChildrenOrder(f *fixture) {
	names := []string{"b", "10", "a", "9", "é", "a-", "Z"}
	for _, name := range names {
		f.main.commit(create(f.path(name), ""))
	}
	slices.Sort(names)
	if got := f.main.read(f.root).Children; !slices.Equal(got, names) {
		f.Errorf("children %v", got)
	}
}

// testManyOps creates a thousand nodes in one transaction, and deletes them in another.
func testManyOps(f *fixture) {
	ops := make([]registry.Op, 1000)
	for i := range ops {
		ops[i] = create(f.path(fmt.Sprintf("%04d", i)), "x")
	}
	f.main.commit(ops...)
	n := f.main.read(f.root)
	if len(n.Children) != len(ops) || !slices.IsSorted(n.Children) {
		f.Errorf("%d children", len(n.Children))
	}
	for i := range ops {
		ops[i] = remove(ops[i].Path)
	}
	f.main.commit(ops...)
}

// testLargeData writes a value that just fits, and one that is far too large.
func testLargeData(f *fixture) {
	a := f.path("a")
	data := strings.Repeat("0123456789abcdef", 900<<10/16)
	f.main.commit(create(a, data))
	if n := f.main.read(a); string(n.Data) != data {
		f.Errorf("%d bytes came back of %d", len(n.Data), len(data))
	}
	_, err := f.main.Commit(f.ctx, set(a, strings.Repeat("x", 64<<20), registry.AnyVersion))
	if !errors.Is(err, registry.ErrTooLarge) {
		f.Errorf("64 MiB in one transaction: %v", err)
	}
	f.main.commit(set(a, "small", 0))
}

// testAliasing changes the bytes that it has given to a commit, and those that a read has
// returned.
func testAliasing(f *fixture) {
	a := f.path("a")
	data := []byte("good")
	if _, err := f.main.Commit(f.ctx, registry.Op{Kind: registry.Create, Path: a, Data: data}); err != nil {
		f.Fatal(err)
	}
	f.main.commit(create(a+"/k", ""))
	copy(data, "bad!")
	n := f.main.read(a)
	copy(n.Data, "bad!")
	n.Children[0] = "bad!"
	if n := f.main.read(a); !bytes.Equal(n.Data, []byte("good")) || n.Children[0] != "k" {
		f.Errorf("%s %v", n.Data, n.Children)
	}
}

// testIncrements lets several sessions raise one number, each again if another was faster.
func testIncrements(f *fixture) {
	const workers, each = 8, 25
	a := f.path("a")
	f.main.commit(create(a, "0"))
	var group sync.WaitGroup
	for range workers {
		m := f.join()
		group.Go(func() {
			for done := 0; done < each; {
				n, err := m.Read(f.ctx, a)
				if err != nil {
					f.Errorf("read: %v", err)
					return
				}
				count, _ := strconv.Atoi(string(n.Data))
				_, err = m.Commit(f.ctx, set(a, strconv.Itoa(count+1), n.Stat.Version))
				switch {
				case err == nil:
					done++
				case !errors.Is(err, registry.ErrConflict):
					f.Errorf("commit: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
	f.main.sync()
	if n := f.main.read(a); string(n.Data) != strconv.Itoa(workers*each) || n.Stat.Version != workers*each {
		f.Errorf("counted %s in %d sets", n.Data, n.Stat.Version)
	}
}

// testCancelled sends requests whose context has ended before.
func testCancelled(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	a := f.path("a")
	if _, err := f.main.Commit(ctx, create(a, "")); err == nil || errors.Is(err, registry.ErrEnded) {
		f.Errorf("commit: %v", err)
	}
	if _, err := f.main.Read(ctx, a); err == nil {
		f.Error("read went through")
	}
	f.main.sync()
	if f.main.read(a).Exists {
		f.Error("the node is there")
	}
}
