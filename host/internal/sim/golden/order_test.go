package golden

import (
	"fmt"
	"strings"
	"testing"
)

// rule is an order that a Java member relies on, or a promise of the document. It is
// checked at each transaction, in the logs of ElasticJob and in ours. broken is a log
// that it must refuse.
type rule struct {
	key    string
	note   string // details that the key leaves out
	check  func(o *occasion)
	broken func() (world, []entry)
	// ours: only our members keep the order
	ours bool
}

// occasion is one transaction that a rule checks.
type occasion struct {
	entry
	before, after world
	whole         bool // before is complete; otherwise an absent key is unknown
	checked       int
	faults        []string
}

// ask counts what the rule checks, and returns the state of a node; an unknown node is
// none.
func (o *occasion) ask(n node, w world, want func(state) bool, format string, args ...any) {
	s, known := w[n]
	if !known && !o.whole {
		return
	}
	o.checked++
	if !want(s) {
		o.faults = append(o.faults, fmt.Sprintf("at %d, %s: ", o.at, o.by)+fmt.Sprintf(format, args...))
	}
}

func there(s state) bool   { return s.exists }
func missing(s state) bool { return !s.exists }

// made returns the nodes of a kind that the transaction creates.
func (o *occasion) made(kind string) []touch {
	return o.those(kind, func(t touch) bool { return t.exists && !t.set && !o.before[t.node].exists })
}

// gone returns the nodes of a kind that the transaction deletes. The end of a session
// does not count, since no member decides it.
func (o *occasion) gone(kind string) []touch {
	if o.end {
		return nil
	}
	return o.those(kind, func(t touch) bool { return !t.exists })
}

func (o *occasion) those(kind string, which func(touch) bool) []touch {
	var all []touch
	for _, t := range o.touched {
		if t.kind == kind && which(t) {
			all = append(all, t)
		}
	}
	return all
}

var (
	config     = kind("config")
	leader     = kind("leader.election.instance")
	necessary  = kind("leader.sharding.necessary")
	processing = kind("leader.sharding.processing")

	instances = instanceOf("").kind
	items     = "sharding.N"
	owners    = ofItem("instance", "").kind
	running   = ofItem("running", "").kind
	misfires  = ofItem("misfire", "").kind
	failovers = ofItem("failover", "").kind
	pendings  = pendingOf("").kind
)

var rules = []rule{
	{key: "config first", note: "`config` is created before any `instances/{id}`", check: func(o *occasion) {
		for _, t := range o.made(instances) {
			o.ask(config, o.before, there, "%s before config", t.node)
		}
	}, broken: by("a", put(instanceOf("a"), ""))},
	{key: "server with or before its instance", note: "an instance without a server counts as enabled", check: func(o *occasion) {
		for _, t := range o.made(instances) {
			o.ask(serverOf(t.arg), o.after, there, "%s without its server", t.node)
		}
	}, broken: by("a", put(config, "{}"), put(instanceOf("a"), ""))},
	{key: "an instance and the reshard mark together", note: "in the same transaction; ElasticJob creates `necessary` after the instance", ours: true, check: func(o *occasion) {
		for _, t := range o.made(instances) {
			o.ask(necessary, o.after, there, "%s without the mark", t.node)
		}
	}, broken: by("a", put(config, "{}"), put(serverOf("a"), ""), put(instanceOf("a"), ""))},
	{key: "the leader removes the reshard mark", note: "nobody else does", check: func(o *occasion) {
		for range o.gone(necessary.kind) {
			o.ask(leader, o.before, func(s state) bool { return s.data == o.by }, "%s leads", o.before[leader].data)
		}
	}, broken: by("a", put(leader, "b"), put(necessary, ""), cut(necessary))},
	{key: "owners and the mark's removal together", note: "owners appear only in the transaction that removes `necessary`, and after it every item has one and `processing` is gone", check: func(o *occasion) {
		removed := len(o.gone(necessary.kind)) > 0
		for _, t := range o.those(owners, func(t touch) bool { return t.exists }) {
			o.ask(necessary, o.before, func(state) bool { return removed }, "%s without the removal of the mark", t.node)
		}
		if !removed {
			return
		}
		o.ask(processing, o.after, missing, "processing is left")
		for n, s := range o.after {
			if n.kind == items && s.exists {
				o.ask(ofItem("instance", n.arg), o.after, there, "item %s has no owner", n.arg)
			}
		}
	}, broken: by("a", put(necessary, ""), put(ofItem("instance", "0"), "a"))},
	{key: "nothing moves while it runs", note: "the owner of an item does not change while `running` is there", check: func(o *occasion) {
		for _, t := range o.those(owners, func(t touch) bool { return t.over(o.before[t.node]) != o.before[t.node] }) {
			o.ask(ofItem("running", t.arg), o.before, missing, "the owner of item %s changes while it runs", t.arg)
		}
	}, broken: by("a", put(ofItem("running", "0"), ""), put(ofItem("instance", "0"), "b"))},
	{key: "running by the owner or the taker", note: "`running` of an item is created by the member that its `instance` or `failover` names", check: func(o *occasion) {
		for _, t := range o.made(running) {
			if o.by == "" {
				continue // an operator's mark
			}
			own := func(s state) bool { return s.data == o.by || o.after[ofItem("failover", t.arg)].data == o.by }
			o.ask(ofItem("instance", t.arg), o.after, own, "runs item %s of %s", t.arg, o.after[ofItem("instance", t.arg)].data)
		}
	}, broken: by("a", put(ofItem("instance", "0"), "b"), put(ofItem("running", "0"), ""))},
	{key: "no run begins while items are assigned", note: "not while `processing` is there", check: func(o *occasion) {
		for _, t := range o.made(running) {
			o.ask(processing, o.after, missing, "item %s begins", t.arg)
		}
	}, broken: by("a", put(processing, ""), put(ofItem("running", "0"), ""))},
	{key: "no run of a disabled item begins", check: func(o *occasion) {
		for _, t := range o.made(running) {
			o.ask(ofItem("disabled", t.arg), o.before, missing, "item %s begins", t.arg)
		}
	}, broken: by("a", put(ofItem("disabled", "0"), ""), put(ofItem("running", "0"), ""))},
	{key: "pending after the death", note: "an item's pending node is created when its owner has no `instances/{id}` any more", check: func(o *occasion) {
		for _, t := range o.made(pendings) {
			owner := o.before[ofItem("instance", t.arg)].data
			o.ask(instanceOf(owner), o.after, missing, "item %s is pending, %s is alive", t.arg, owner)
		}
	}, broken: by("a", put(ofItem("instance", "0"), "b"), put(instanceOf("b"), ""), put(pendingOf("0"), ""))},
	{key: "pending until taken", note: "an item's pending node is deleted only when its `failover` is there", check: func(o *occasion) {
		for _, t := range o.gone(pendings) {
			o.ask(ofItem("failover", t.arg), o.after, there, "item %s is neither pending nor taken", t.arg)
		}
	}, broken: by("a", put(pendingOf("0"), ""), cut(pendingOf("0")))},
	{key: "taking is one step", note: "one transaction deletes the pending run, and creates `failover` and `running`", ours: true, check: func(o *occasion) {
		for _, t := range o.made(failovers) {
			o.ask(pendingOf(t.arg), o.before, there, "item %s was not pending", t.arg)
			o.ask(pendingOf(t.arg), o.after, missing, "item %s is still pending", t.arg)
			o.ask(ofItem("running", t.arg), o.after, there, "item %s does not run", t.arg)
		}
	}, broken: by("a", put(pendingOf("0"), ""), put(ofItem("failover", "0"), "a"))},
	{key: "a taken run ends in one step", note: "one transaction deletes `running` and `failover`", ours: true, check: func(o *occasion) {
		for _, t := range o.gone(running) {
			o.ask(ofItem("failover", t.arg), o.after, missing, "failover of item %s is left", t.arg)
		}
	}, broken: by("a", put(ofItem("running", "0"), ""), put(ofItem("failover", "0"), "a"), cut(ofItem("running", "0")))},
	{key: "failover outlives running", note: "`failover` is deleted with `running` or after it", check: func(o *occasion) {
		for _, t := range o.gone(failovers) {
			o.ask(ofItem("running", t.arg), o.after, missing, "item %s still runs", t.arg)
		}
	}, broken: by("a", put(ofItem("running", "0"), ""), put(ofItem("failover", "0"), "a"), cut(ofItem("failover", "0")))},
	{key: "misfire goes before the run that makes it good", note: "`misfire` is deleted before that run begins or in the same transaction, never while the item runs", check: func(o *occasion) {
		for _, t := range o.gone(misfires) {
			o.ask(ofItem("running", t.arg), o.before, missing, "item %s runs", t.arg)
		}
	}, broken: by("a", put(ofItem("misfire", "0"), ""), put(ofItem("running", "0"), ""), cut(ofItem("misfire", "0")))},
	{key: "a trigger goes before its run", note: "`TRIGGER` is emptied before `running` appears, or in the same transaction", check: func(o *occasion) {
		for _, t := range o.made(running) {
			if o.by != "" {
				o.ask(instanceOf(o.by), o.after, func(s state) bool { return s.data == "" }, "item %s begins and the request is left", t.arg)
			}
		}
	}, broken: by("a", put(instanceOf("a"), "TRIGGER"), put(ofItem("running", "0"), ""))},
	{key: "runs end before their member leaves", note: "no `running` of its items is left when `instances/{id}` is deleted", check: func(o *occasion) {
		for _, t := range o.gone(instances) {
			for n, s := range o.after {
				if (n.kind == owners || n.kind == failovers) && s.data == t.arg {
					o.ask(ofItem("running", n.arg), o.after, missing, "item %s still runs", n.arg)
				}
			}
		}
	}, broken: by("a", put(instanceOf("a"), ""), put(ofItem("instance", "0"), "a"), put(ofItem("running", "0"), ""), cut(instanceOf("a")))},
	{key: "the lead goes before its instance", note: "a leader that leaves deletes the leader's node before its `instances/{id}` or with it", check: func(o *occasion) {
		for _, t := range o.gone(instances) {
			o.ask(leader, o.after, func(s state) bool { return s.data != t.arg }, "%s is left and leads", t.arg)
		}
	}, broken: by("a", put(instanceOf("a"), ""), put(leader, "a"), cut(instanceOf("a")))},
}

func put(n node, data string) touch {
	return touch{node: n, state: state{exists: true, data: data}}
}

func cut(n node) touch { return touch{node: n} }

// by returns a log in which id writes one node at a time.
func by(id string, touches ...touch) func() (world, []entry) {
	return func() (world, []entry) {
		var log []entry
		for k, t := range touches {
			log = append(log, entry{at: int64(k), by: id, touched: []touch{t}})
		}
		return world{}, log
	}
}

// apply checks a log by a rule.
func (r rule) apply(w world, log []entry, whole bool) (checked int, faults []string) {
	for _, e := range log {
		o := &occasion{entry: e, before: w, after: w.apply(e), whole: whole}
		r.check(o)
		checked += o.checked
		faults = append(faults, o.faults...)
		w = o.after
	}
	return checked, faults
}

func TestOrder(t *testing.T) {
	t.Parallel()
	var plays []*play
	for _, s := range scenarios {
		plays = append(plays, perform(t, s))
	}
	for _, r := range rules {
		t.Run(strings.ReplaceAll(r.key, " ", "_"), func(t *testing.T) {
			t.Parallel()
			theirs, here := 0, 0
			for _, p := range plays {
				here += p.checkRule(t, r)
				for k := range p.rec.Flows {
					f := &p.rec.Flows[k]
					n, faults := r.apply(p.rec.before(f), p.rec.entries(f), false)
					theirs += n
					for _, fault := range faults {
						if !r.ours {
							t.Errorf("recorded, %s: %s: %s", p.rec.file, f.Name, fault)
						}
					}
				}
			}
			t.Logf("judged %d times here, %d times in the recordings", here, theirs)
			if here == 0 || theirs == 0 && !r.ours {
				t.Error("there was nothing to judge")
			}
		})
	}
}

// checkRule checks our own logs by a rule.
func (p *play) checkRule(t *testing.T, r rule) (checked int) {
	t.Helper()
	for _, log := range p.logs {
		n, faults := r.apply(world{}, log, true)
		checked += n
		for _, f := range faults {
			t.Errorf("%s: %s", p.rec.file, f)
		}
	}
	return checked
}

// TestOrderRefuses checks that each rule refuses its broken log.
func TestOrderRefuses(t *testing.T) {
	t.Parallel()
	for _, r := range rules {
		w, log := r.broken()
		if _, faults := r.apply(w, log, true); len(faults) == 0 {
			t.Errorf("%q was broken and nobody noticed", r.key)
		}
	}
}
