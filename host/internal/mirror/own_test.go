package mirror_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// service is a tree with one session. It delivers events in order, and each answer at any
// time after the events before it.
type service struct {
	r         *rand.Rand
	tree      *tree.Tree
	moments   []map[string]registry.Node // the tree after each transaction
	events    []event                    // delivered or not
	delivered int
	answers   []answer
	reads     int
}

type event struct {
	registry.Event
	revision int64
}

type answer struct {
	after int // number of events that come before it
	give  func()
}

const (
	session = registry.SessionID(7)
	other   = registry.SessionID(8)
)

// nodes of the tests: two lists, each with some children, and a child of one.
var nodesOfTests = []string{"/l", "/m", "/l/a", "/l/b", "/l/c", "/m/a", "/m/b", "/l/a/deep"}

func below(name string, n registry.Node) []string {
	if name != "l" && name != "m" || !n.Exists {
		return nil
	}
	var kids []string
	for _, c := range n.Children {
		kids = append(kids, name+"/"+c)
	}
	return append(kids, name+"/b") // followed even if it does not exist
}

func (s *service) commit(owner registry.SessionID, ops []registry.Op) (registry.Receipt, error) {
	receipt, changes, err := s.tree.Commit(owner, 0, ops)
	if err != nil {
		return receipt, err
	}
	for _, c := range changes {
		e := event{registry.Event{Kind: registry.Changed, Path: c.Path, Changes: 1}, receipt.Revision}
		if c.Kind == tree.ChildrenChanged {
			e.Changes = 0
		}
		e.Gone = c.Kind == tree.Deleted
		s.events = append(s.events, e)
	}
	now := map[string]registry.Node{}
	for _, p := range nodesOfTests {
		now[p] = s.tree.Get(p)
	}
	s.moments = append(s.moments, now)
	return receipt, nil
}

// random returns a transaction that may be refused. It sets the root, as transactions of
// members do, so that the receipt has its revision.
func (s *service) random() []registry.Op {
	var ops []registry.Op
	for range 1 + s.r.IntN(3) {
		path := nodesOfTests[s.r.IntN(len(nodesOfTests))]
		op := registry.Op{Path: path, Version: registry.AnyVersion, Data: fmt.Append(nil, s.r.IntN(100))}
		op.Kind = []registry.OpKind{registry.Create, registry.CreateEphemeral, registry.Set, registry.Set, registry.Delete, registry.Check, registry.Absent}[s.r.IntN(7)]
		if s.r.IntN(2) == 0 {
			op.Version = s.tree.Get(path).Stat.Version
		}
		ops = append(ops, op)
	}
	return append(ops, registry.Op{Kind: registry.Set, Path: "/", Version: registry.AnyVersion})
}

// moment is the tree after the last transaction of which all events were delivered.
func (s *service) moment() map[string]registry.Node {
	revision := s.tree.Revision()
	if s.delivered < len(s.events) {
		revision = s.events[s.delivered].revision - 1
	}
	return s.moments[revision]
}

// A settled mirror is one moment of the tree, for all writes, and in every order of events
// and answers that the service allows.
func TestMirrorOfWhatIsWritten(t *testing.T) {
	t.Parallel()
	known := 0
	for seed := range uint64(4_000) {
		s := &service{r: rand.New(rand.NewPCG(seed, 1)), tree: tree.New(), moments: []map[string]registry.Node{{}}}
		m := mirror.New("", []string{"l", "m"}, below)
		copied := map[string]registry.Node{}
		flying := false
		for range 200 {
			switch s.r.IntN(6) {
			case 0:
				_, _ = s.commit(other, s.random()) // it may be refused
			case 1:
				if flying {
					continue
				}
				flying = true
				ops := s.random()
				m.Submitted(ops)
				s.answers = append(s.answers, answer{-1, func() { // it is carried out later
					receipt, err := s.commit(session, ops)
					s.answers = append(s.answers, answer{len(s.events), func() {
						flying = false
						if err != nil {
							m.Answered(nil, session)
						} else {
							m.Answered(&receipt, session)
						}
					}})
				}})
			case 2:
				for _, r := range m.Wanted() {
					s.answers = append(s.answers, answer{-1, func() {
						s.reads++
						n := s.tree.Get(r.Path)
						s.answers = append(s.answers, answer{len(s.events), func() { m.Reply(r, n) }})
					}})
				}
			case 3, 4:
				if s.delivered < len(s.events) {
					s.delivered++
					m.Event(s.events[s.delivered-1].Event)
				}
			default:
				if len(s.answers) == 0 {
					continue
				}
				i := s.r.IntN(len(s.answers))
				a := s.answers[i]
				if a.after > s.delivered {
					continue
				}
				s.answers = append(s.answers[:i:i], s.answers[i+1:]...)
				a.give()
			}
			if m.Settled() {
				for _, c := range m.Changes() {
					copied[c.Path] = c.Node
				}
				if why := differs(copied, s.moment()); why != "" {
					t.Fatalf("seed %d: %s", seed, why)
				}
				known++
			}
		}
	}
	if known < 10_000 {
		t.Errorf("settled only %d times", known)
	}
}

// differs compares the mirrored nodes with a moment of the tree.
func differs(copied, moment map[string]registry.Node) string {
	for path, want := range moment {
		got := copied[path]
		parent := path[:strings.LastIndexByte(path, '/')]
		if path != "/l" && path != "/m" && (parent == "/l/a" || !moment[parent].Exists) {
			continue // not mirrored
		}
		want.Stat.ModifiedAt, want.Stat.ChildVersion = got.Stat.ModifiedAt, got.Stat.ChildVersion
		if len(want.Data) == 0 && len(got.Data) == 0 {
			want.Data, got.Data = nil, nil
		}
		if len(want.Children) == 0 && len(got.Children) == 0 {
			want.Children, got.Children = nil, nil
		}
		if !reflect.DeepEqual(got, want) {
			return fmt.Sprintf("%s is %+v, want %+v", path, got, want)
		}
	}
	return ""
}

// A node that only our transaction changed is known from its answer.
func TestOwnWritesAreNotRead(t *testing.T) {
	t.Parallel()
	was := map[string]registry.Node{"/a": node(1), "/b": {}, "/c": node(1)}
	m := mirror.New("", []string{"a", "b", "c"}, children)
	settle(t, m, was)
	m.Changes()
	m.Submitted([]registry.Op{
		{Kind: registry.Set, Path: "/a", Data: []byte("x")},
		{Kind: registry.CreateEphemeral, Path: "/b", Data: []byte("y")},
		{Kind: registry.Delete, Path: "/c"},
	})
	for path := range was {
		m.Event(registry.Event{Kind: registry.Changed, Path: path, Changes: 1})
	}
	if m.Settled() || len(m.Wanted()) != 0 {
		t.Fatal("settled, or wanted, before the answer")
	}
	m.Answered(&registry.Receipt{Revision: 9, Results: []registry.Result{{Version: 4}, {}, {}}}, session)
	if !m.Settled() || len(m.Wanted()) != 0 {
		t.Fatal("not settled by the answer")
	}
	c := m.Changes()
	if len(c) != 3 || c[0].Node.Stat.Version != 4 || c[0].Node.Stat.Modified != 9 || c[0].Node.Stat.Created != 1 ||
		string(c[1].Node.Data) != "y" || c[1].Node.Stat.Owner != session || c[2].Node.Exists {
		t.Errorf("changes %+v", c)
	}
}

// An ephemeral node is known from the answer, too, if it belongs to our own session.
func TestOwnEphemeralNodesAreNotRead(t *testing.T) {
	t.Parallel()
	theirs, mine := node(1), node(1)
	theirs.Stat.Owner, mine.Stat.Owner = other, session
	m := mirror.New("", []string{"made", "read", "theirs"}, children)
	settle(t, m, map[string]registry.Node{"/made": {}, "/read": {}, "/theirs": theirs})
	commit := func(ops ...registry.Op) []mirror.Read {
		t.Helper()
		m.Changes()
		m.Submitted(ops)
		for _, op := range ops {
			m.Event(registry.Event{Kind: registry.Changed, Path: op.Path, Changes: 1})
		}
		m.Answered(&registry.Receipt{Revision: 9, Results: make([]registry.Result, len(ops))}, session)
		return m.Wanted()
	}
	if reads := commit(registry.Op{Kind: registry.CreateEphemeral, Path: "/made"}); len(reads) > 0 {
		t.Fatalf("wanted %v", reads)
	}
	m.Event(registry.Event{Kind: registry.Changed, Path: "/read", Changes: 1})
	m.Reply(m.Wanted()[0], mine)
	reads := commit(registry.Op{Kind: registry.Set, Path: "/made"}, registry.Op{Kind: registry.Set, Path: "/read"}, registry.Op{Kind: registry.Set, Path: "/theirs"})
	if got := paths(reads); !slices.Equal(got, []string{"/theirs"}) {
		t.Fatalf("wanted %v", got)
	}
	m.Reply(reads[0], theirs)
	for _, c := range m.Changes() {
		if c.Path != "/theirs" && (c.Node.Stat.Owner != session || c.Node.Stat.Modified != 9) {
			t.Errorf("change %+v", c)
		}
	}
}

// Of many deleted nodes one is read, and none if another request was sent meanwhile.
func TestWhatIsGoneIsReadOnce(t *testing.T) {
	t.Parallel()
	was := map[string]registry.Node{}
	var names []string
	for i := range 100 {
		name := fmt.Sprintf("n%d", i)
		names = append(names, name)
		was["/"+name] = node(1)
	}
	m := mirror.New("", names, children)
	settle(t, m, was)
	m.Changes()
	for _, name := range names[:99] {
		m.Event(registry.Event{Kind: registry.Changed, Path: "/" + name, Changes: 1, Gone: true})
	}
	if m.Settled() {
		t.Fatal("settled on what may be half of a transaction")
	}
	reads := m.Wanted()
	if len(reads) != 1 || len(m.Wanted()) != 0 {
		t.Fatalf("wanted %v", reads)
	}
	m.Failed(reads[0])
	if reads = m.Wanted(); len(reads) != 1 {
		t.Fatalf("wanted %v after a failure", reads)
	}
	m.Reply(reads[0], registry.Node{})
	if !m.Settled() || len(m.Changes()) != 99 {
		t.Error("not settled by the answer")
	}
	m.Event(registry.Event{Kind: registry.Changed, Path: "/" + names[99], Changes: 1, Gone: true})
	m.Submitted(nil)
	if reads := m.Wanted(); len(reads) != 0 {
		t.Errorf("wanted %v although a transaction is to be answered", reads)
	}
	m.Answered(&registry.Receipt{Revision: 9}, session)
	if !m.Settled() || len(m.Changes()) != 1 {
		t.Error("not settled by the transaction")
	}
}

// A node that our transaction creates below a list is known without a read once the list
// names it.
func TestOwnChildrenAreNotRead(t *testing.T) {
	t.Parallel()
	m := mirror.New("", []string{"d"}, children)
	settle(t, m, map[string]registry.Node{"/d": node(1)})
	m.Changes()
	m.Submitted([]registry.Op{{Kind: registry.Create, Path: "/d/a", Data: []byte("x")}, {Kind: registry.Create, Path: "/d/b"}})
	for _, e := range []registry.Event{{Path: "/d/a", Changes: 1}, {Path: "/d"}, {Path: "/d/b", Changes: 1}} {
		e.Kind = registry.Changed
		m.Event(e)
	}
	m.Answered(&registry.Receipt{Revision: 9, Results: make([]registry.Result, 2)}, session)
	m.Event(registry.Event{Kind: registry.Changed, Path: "/d/b", Changes: 1}) // another member's change
	reads := m.Wanted()
	if got := paths(reads); !slices.Equal(got, []string{"/d"}) {
		t.Fatalf("wanted %v", got)
	}
	m.Reply(reads[0], node(9, "a", "b"))
	if got := paths(m.Wanted()); !slices.Equal(got, []string{"/d/b"}) {
		t.Errorf("wanted %v, want what somebody else has changed", got)
	}
}
