package registrytest

import (
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host/registry"
)

var refuseTests = []subtest{
	{"every refusal names op and reason and changes nothing", testRefusals},
	{"of several refused ops the first is named", testFirstRefused},
	{"no child below an ephemeral node", testEphemeralParent},
}

// refusal has ops that are refused, with the expected index and reason. The tree has p with the
// child c, both of version 0.
type refusal struct {
	name   string
	ops    func(f *fixture) []registry.Op
	index  int
	reason registry.Reason
}

// one returns a function that makes a single op with a path below the root.
func one(op func(path string) registry.Op, names ...string) func(f *fixture) []registry.Op {
	return func(f *fixture) []registry.Op { return []registry.Op{op(f.path(names...))} }
}

func created(path string) registry.Op { return create(path, "") }

func numbered(path string) registry.Op {
	return registry.Op{Kind: registry.CreateSequential, Path: path}
}

func setTo(version int32) func(path string) registry.Op {
	return func(path string) registry.Op { return set(path, "x", version) }
}

// deleted returns a function, for one, that deletes a node of that version.
func deleted(version int32) func(path string) registry.Op {
	return func(path string) registry.Op {
		return registry.Op{Kind: registry.Delete, Path: path, Version: version}
	}
}

func checked(version int32) func(path string) registry.Op {
	return func(path string) registry.Op { return check(path, version) }
}

var refusals = []refusal{
	{"create what is there", one(created, "p"), 0, registry.NodeExists},
	{"create ephemeral what is there", one(ephemeral, "p"), 0, registry.NodeExists},
	{"create without parent", one(created, "no", "k"), 0, registry.NoParent},
	{"create sequential without parent", one(numbered, "no", "k-"), 0, registry.NoParent},
	{"set what is not there", one(setTo(registry.AnyVersion), "no"), 0, registry.NoNode},
	{"set another version", one(setTo(1), "p"), 0, registry.BadVersion},
	{"delete what is not there", one(deleted(registry.AnyVersion), "no"), 0, registry.NoNode},
	{"delete another version", one(deleted(3), "p", "c"), 0, registry.BadVersion},
	{"delete with children", one(deleted(0), "p"), 0, registry.NotEmpty},
	{"check what is not there", one(checked(registry.AnyVersion), "no"), 0, registry.NoNode},
	{"check another version", one(checked(1), "p"), 0, registry.BadVersion},
	{"absent what is there", one(absent, "p"), 0, registry.NodeExists},
	{"a path with an empty name", one(created, "p", "", "k"), 0, registry.BadPath},
	{"a path that climbs", one(created, "p", "..", "k"), 0, registry.BadPath},
	{"a path that ends in a slash", one(created, "k", ""), 0, registry.BadPath},
	{"a relative path", func(*fixture) []registry.Op {
		return []registry.Op{created("k")}
	}, 0, registry.BadPath},
	{"the last of four", func(f *fixture) []registry.Op {
		return []registry.Op{
			set(f.path("p"), "lost", 0), created(f.path("k")), remove(f.path("p", "c")), check(f.path("p"), 0),
		}
	}, 3, registry.BadVersion},
	{"a sequential create before it is undone", func(f *fixture) []registry.Op {
		return []registry.Op{numbered(f.path("p", "n-")), created(f.path("p"))}
	}, 1, registry.NodeExists},
}

// testRefusals sends each of refusals. Error, tree and events must show that nothing was applied.
func testRefusals(f *fixture) {
	p, c := f.path("p"), f.path("p", "c")
	f.main.commit(create(p, "data"), create(c, ""))
	f.follow(f.main, f.root)
	before := []string{show(f.main.read(f.root)), show(f.main.read(p)), show(f.main.read(c))}
	for _, r := range refusals {
		ops := r.ops(f)
		_, err := f.main.Commit(f.ctx, ops...)
		var conflict *registry.ConflictError
		switch {
		case !errors.Is(err, registry.ErrConflict) || !errors.As(err, &conflict):
			f.Errorf("%s: error %v", r.name, err)
		case conflict.Index != r.index || conflict.Reason != r.reason:
			f.Errorf("%s: %v, want op %d: %v", r.name, err, r.index, r.reason)
		case conflict.Op.Kind != ops[r.index].Kind || conflict.Op.Path != ops[r.index].Path:
			f.Errorf("%s: names the op %+v", r.name, conflict.Op)
		}
		after := []string{show(f.main.read(f.root)), show(f.main.read(p)), show(f.main.read(c))}
		for i := range before {
			if before[i] != after[i] {
				f.Errorf("%s: was %s, is %s", r.name, before[i], after[i])
			}
		}
	}
	f.main.sync()
	if events := f.main.received(); len(events) > 0 {
		f.Errorf("events of what did not happen: %v", events)
	}
	if got := f.main.commit(numbered(p + "/n-")).Results[0].Path; got != p+"/n-0000000001" {
		f.Errorf("a refused create used a number: %s", got)
	}
}

func show(n registry.Node) string { return fmt.Sprintf("%+v", n) }

// testFirstRefused sends a transaction with several ops that would be refused.
func testFirstRefused(f *fixture) {
	_, err := f.main.Commit(f.ctx, absent(f.path("no")), check(f.path("no"), 0), create(f.root, ""), remove(f.path("gone")))
	var conflict *registry.ConflictError
	if !errors.As(err, &conflict) || conflict.Index != 1 || conflict.Reason != registry.NoNode {
		f.Errorf("error %v", err)
	}
}

// testEphemeralParent creates nodes of each kind below an ephemeral one.
func testEphemeralParent(f *fixture) {
	e := f.path("e")
	f.main.commit(ephemeral(e))
	for _, op := range []registry.Op{created(e + "/k"), ephemeral(e + "/k"), numbered(e + "/k")} {
		_, err := f.main.Commit(f.ctx, op)
		var conflict *registry.ConflictError
		if !errors.As(err, &conflict) || conflict.Reason != registry.EphemeralParent {
			f.Errorf("error %v", err)
		}
	}
}
