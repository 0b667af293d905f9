package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// ID names a member of the job.
type ID = job.InstanceID

// View is one moment of the job's nodes as the layout decoded them. A published view never
// changes; the next one is a new value. Times are Unix milliseconds, revisions those of the
// registry.
type View struct {
	Rev int64 // number of the view among those that differ

	Exists  bool // the job's own node exists
	Rest    bool // a removal has deleted the definition, and has yet to delete the rest, or has left it
	Parents Parents
	// Nodes are existing nodes that only the layout asks for, for its transactions. The
	// layout numbers them.
	Nodes  NodeSet
	Config *Config // nil: it does not exist
	// ConfigFault is why config, or the module's node, cannot be read. Nothing begins then.
	ConfigFault   string
	ConfigVersion Version
	// ConfigModified is the revision of config's last write, and ConfigModifiedAt its time
	// in ms by the registry's clock. ConfigSets counts the writes; where keys are nodes,
	// those of the total alone.
	ConfigModified   int64
	ConfigModifiedAt int64
	ConfigSets       int32
	// HasModule: the module's node exists, so a server of ours has defined the job.
	HasModule     bool
	ModuleVersion Version
	Definition    Definition // the values of the two nodes, even unreadable ones
	Next          string     // digest of the module that is to replace the present one; "": none
	// RecordFault is why a record of ours cannot be read. Nothing is decided then.
	RecordFault string
	// Faults says what is wrong with nodes of the job, including the two faults above. Each
	// begins with a path, and names what was expected there.
	Faults []reason.Reason
	// Paused: an operator has paused the job; use PausedAt, since a pause may have an end.
	Paused bool
	Pause  Pause

	Leader        ID // "" if there is none
	LeaderOwner   int64
	LeaderVersion int32 // it tells a leader of ours from a foreign one
	// ElectionLatch and FailoverLatch are the queues, in order.
	ElectionLatch, FailoverLatch []Contender
	Instances                    []Instance // descending by id, as ElasticJob lists them
	Ghosts                       []ID       // instances whose nodes no session holds; they are ignored
	Unanswered                   []ID       // instances that were asked to begin, and are gone
	Members                      []Member   // ascending by id
	Joins                        int32      // each Join of a member of ours raises it
	Servers                      []Server   // ascending by address
	// ByAddress: the layout identifies a member by its server's address alone, so each
	// address has one. Instances are then ascending, as ElasticJob lists them there.
	ByAddress bool

	Items           []Item // by item; as many as the largest number needs
	Necessary       bool
	NecessaryV      int32 // version of the mark; each Join raises it or creates the mark
	NecessaryAt     int64 // when the mark was last set, in ms of the registry's time; for reports only
	Processing      bool
	ProcessingOwner int64 // the session that holds it
	// Sealed: no foreign leader has begun to assign since one of our members adopted the
	// last assignment.
	Sealed  bool
	Pending []Pending // ascending by item
	// Backfills are instants that wait until the owners of their items begin them.
	Backfills []Backfill // ascending by item

	Assignment Assignment
	Fires      Fires
	Guarantee  Guarantee
	Runs       []Runs // ascending by id
	Went
}

// Config is what the protocol uses of the job's configuration.
type Config struct {
	Total            int
	Cron             string
	Strategy         string
	Failover         bool
	Misfire          bool
	MonitorExecution bool
	Disabled         bool
	ReconcileEvery   int64 // ms; 0: off
	CountEvery       int64 // ms between reports of how many elements of a dataflow a member has handled; 0: off
	MaxSkew          int64 // ms by which a member's clock may differ from the registry's; 0: no limit
	OnlyOurs         bool  // no foreign member can run the job
}

// Instance is a member's registration for sharding; the member is ours or foreign.
type Instance struct {
	ID      ID
	Owner   int64 // the session that holds it
	Version int32
	Request int64 // revision of the trigger that waits for it; 0: none
}

// Member is a live member of ours.
type Member struct {
	ID     ID
	Owner  int64
	Labels map[string]string // its server's labels, for strategies
	// Address is where its server offers modules to others; empty: it does not.
	Address string
	// Defines: its server's own file has the job, and creates it again when it is gone.
	Defines bool
	// Params: its release passes a requested parameter to the run.
	Params bool
	Ready  Ready // its report about the next module
}

// Server is the node of one address, with an operator's setting.
type Server struct {
	IP       string
	Disabled bool
	// KeepsItems: its items stay with it although it is disabled.
	KeepsItems bool
	Version    int32
	Occupied   bool // a node that is not ours is below it
	// Nodes are existing nodes below it that only the layout asks for, for its
	// transactions.
	Nodes NodeSet
}

// Item is one sharding item as the classical nodes show it.
type Item struct {
	Exists   bool
	Owner    ID // "" if unassigned
	OwnerVer int32
	Running  int64 // session of the member that runs it, by its running mark; 0: none
	// RunningVer is the version of the running mark, which another member may write over.
	RunningVer int32
	// Abandoned: the item has a running mark, and no member runs it.
	Abandoned    bool
	AbandonedBy  ID // the member that the mark names; "": none
	Misfire      bool
	Disabled     bool
	Failover     ID    // the member that took the item; "": none did
	TakerSession int64 // session that holds that mark
	Marks        int32 // running marks observed so far; a lower bound, since events can coalesce
	// ForeignBegan is when a foreign member began the item, in ms, by the item's nodes; 0:
	// none did, or a member of ours has begun it since.
	ForeignBegan int64
	// Nodes are existing nodes of the item that only the layout asks for, for its
	// transactions.
	Nodes NodeSet
}

// Marked reports whether the item has a running mark.
func (it Item) Marked() bool { return it.Running != 0 || it.Abandoned }

// taken reports whether a live member has taken the item over.
func (it Item) taken() bool { return it.Failover != "" && it.TakerSession != 0 }

// total is the number of items of the job; 0 without a configuration.
func (v *View) total() int {
	if v.Config == nil {
		return 0
	}
	return v.Config.Total
}

// item is the item's nodes; the zero value if it has none.
func (v *View) item(i int) Item {
	if i >= 0 && i < len(v.Items) {
		return v.Items[i]
	}
	return Item{}
}

// instance is the registration of a member, ours or foreign; nil if there is none.
func (v *View) instance(id ID) *Instance {
	for k := range v.Instances {
		if v.Instances[k].ID == id {
			return &v.Instances[k]
		}
	}
	return nil
}

// member reports whether the id is that of a live member of ours.
func (v *View) member(id ID) bool {
	k := search(len(v.Members), func(k int) bool { return v.Members[k].ID >= id })
	return k < len(v.Members) && v.Members[k].ID == id
}

// memberOf reports whether the session holds the node of the member.
func (v *View) memberOf(id ID, session int64) bool {
	k, ok := slices.BinarySearchFunc(v.Members, id, func(m Member, id ID) int { return compare(m.ID, id) })
	return ok && v.Members[k].Owner == session
}

// labels are those of the member's server; nil for a foreign member.
func (v *View) labels(id ID) map[string]string {
	k, ok := slices.BinarySearchFunc(v.Members, id, func(m Member, id ID) int { return compare(m.ID, id) })
	if !ok {
		return nil
	}
	return v.Members[k].Labels
}

// ServerDisabled reports whether an operator has disabled the server at the address of
// the member.
func (v *View) ServerDisabled(id ID) bool { return v.serverDisabled(id.IP()) }

// dead reports whether the id is neither registered for sharding nor alive. An operator may
// delete the node in instances while the member still runs; the member's own node in
// members, which its session holds, shows that.
func (v *View) dead(id ID) bool { return v.instance(id) == nil && !v.member(id) }

// runs is the record of a member of ours, dead or live; nil if there is none.
func (v *View) runs(id ID) *Runs {
	k := search(len(v.Runs), func(k int) bool { return v.Runs[k].ID >= id })
	if k == len(v.Runs) || v.Runs[k].ID != id {
		return nil
	}
	return &v.Runs[k]
}

// server is the node of a server by its address; nil if there is none.
func (v *View) server(ip string) *Server {
	k := search(len(v.Servers), func(k int) bool { return v.Servers[k].IP >= ip })
	if k == len(v.Servers) || v.Servers[k].IP != ip {
		return nil
	}
	return &v.Servers[k]
}

func (v *View) serverDisabled(ip string) bool {
	s := v.server(ip)
	return s != nil && s.Disabled
}

func (v *View) hasServer(ip string) bool { return v.server(ip) != nil }

// pending is the item's pending run, for a taker or as a retry; nil if there is none.
func (v *View) pending(i int) *Pending {
	k, ok := slices.BinarySearchFunc(v.Pending, i, func(p Pending, i int) int { return p.Item - i })
	if !ok {
		return nil
	}
	return &v.Pending[k]
}

// eligible lists the instances that may own items, descending: they are live, and their
// server is enabled or keeps its items.
func (v *View) eligible() []ID {
	ids := make([]ID, 0, len(v.Instances))
	for _, in := range v.Instances {
		if s := v.server(in.ID.IP()); s == nil || !s.Disabled || s.KeepsItems {
			ids = append(ids, in.ID)
		}
	}
	return ids
}

// last is the newest instant of the item that is accounted for.
func (v *View) last(i int) int64 {
	t := at(v.Assignment.Last, i)
	for k := range v.Runs {
		t = max(t, at(v.Runs[k].Last, i))
	}
	return t
}

// resumed is the item's newest instant that began after a clock had been set back.
func (v *View) resumed(i int) int64 {
	t := at(v.Assignment.Resumed, i)
	for k := range v.Runs {
		t = max(t, at(v.Runs[k].Resumed, i))
	}
	return t
}

// results returns what members have counted for an instant; the zero value if one of them
// already counts for a later instant, since its counts of this one are lost then.
func (v *View) results(at int64) Results {
	sum := Results{Instant: at}
	all := []Results{v.Assignment.Results}
	for k := range v.Runs {
		all = append(all, v.Runs[k].Results)
	}
	for _, t := range all {
		if t.Instant > at {
			return Results{}
		}
		if t.Instant == at {
			sum.add(t)
		}
	}
	return sum
}

// Past returns what the registry holds of the job's runs on all members, for operators: the
// assignment's together with that of all records.
func (v *View) Past() Past {
	a := v.Assignment.clone()
	for k := range v.Runs {
		a.fold(v.Runs[k].RunsData)
		a.Flow.add(v.Runs[k].Flow)
	}
	return a.Past
}

// someoneWithout reports whether an eligible member has no item, though there are enough.
func (v *View) someoneWithout() bool {
	el := v.eligible()
	return v.total() >= len(el) && slices.ContainsFunc(el, func(id ID) bool {
		return !slices.ContainsFunc(v.Items, func(it Item) bool { return it.Owner == id })
	})
}

// waiting returns the item's pending retry, which its owner begins; nil if there is none.
func (v *View) waiting(i int) *Pending {
	if p := v.pending(i); p != nil && v.waits(p) {
		return p
	}
	return nil
}

// waits reports whether the run waits for its item's owner, not for a taker. Beside foreign
// members, which take every pending run, none does.
func (v *View) waits(p *Pending) bool { return p.After != 0 && !v.Shared() }

// awaitsTaker reports whether a pending run of the item waits for a taker.
func (v *View) awaitsTaker(i int) bool { return v.pending(i) != nil && v.waiting(i) == nil }

// open reports whether a member of ours has an open run of the item.
func (v *View) open(i int) bool {
	return slices.ContainsFunc(v.Runs, func(r Runs) bool { return r.entry(i) != nil })
}

// Shared reports whether foreign members have a part in the job. Where addresses name
// members, a foreign leader has one even before it takes part: no server of ours may be
// there while it writes its configuration, key by key.
func (v *View) Shared() bool {
	if v.ByAddress && v.LeaderOwner != 0 && v.foreignLeads() {
		return true
	}
	for _, in := range v.Instances {
		if !v.member(in.ID) {
			return true
		}
	}
	return false
}
