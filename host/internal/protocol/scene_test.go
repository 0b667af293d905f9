package protocol_test

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// The setup:
//
//	job total=3 failover misfire    the configuration: total cron strategy reconcile (minutes) layout kind;
//	                                failover misfire disabled monitor=off
//	prefer a a b                    the owners that a strategy gives item 0, 1, …; else the members in turn
//	start a b slots=1 queue         members join, one after the other, until none has anything to do; options:
//	                                zoneless lost knows=strategy wait prune (seconds) unstored slots nodes bytes retry (attempts, 1 to 3 s apart) only-asked linger queue replace finish started completed catchup (instants) label=name:value
//	                                module=text (of the module's node) found (they have no file)
//	                                removed (the nodes of earlier members have been removed)
//	new a                           a member that has not observed anything yet; options as of start
//	me b                            the member that commands are for
//	now 112                         the clock
//	calm                            members go on until none has anything to do
//	die b                           its process and its session end
//	show                            the state of the tree
//	past                            how runs ended, of all members
//
// Changes of the registry from outside the members:
//
//	config total=4                  an operator rewrites the configuration; words as of job
//	operator pause                  pause since=100 until=140 by=ann why=text resume reshard follow trigger [members] disable-item 1 enable-item 1
//	                                disable-server b enable-server b remove b (its instance)
//	                                backfill 0-1 at 110 120 (instants wait) cancel-backfill 0-1
//	                                run 0-1 id=t-1 attempt=1 param=east first=90 (the items run once)
//	no-server [removed]             a server that does not run the job records what it missed; "stored":
//	                                the history has the rows in the records of dead members
//	endings                         prints what became of the newest instants, as jobs that run after this one see it
//	foreign j [leads]               a foreign member joins; its session is 100 and the number of its letter
//	foreign-assigns a j j           a foreign leader assigns item 0, 1, … to these
//	foreign-dies j                  the session of a foreign member ends
//	node create x/y = text          create set delete, or "session 9" for an ephemeral of that
//	                                session; {b} is b's id, {b.ip} its address; paths begin at the job, which is "."
var scene = map[string]func(*cluster, *arguments) error{
	"job":   configure,
	"calm":  func(c *cluster, _ *arguments) error { return c.calm() },
	"show":  func(c *cluster, _ *arguments) error { c.printView(c.look(&c.watcher)); return nil },
	"start": start, "new": newMembers, "prefer": prefer, "me": chooseMe, "now": setClock, "die": die,
	"foreign": joinForeign, "foreign-assigns": writeOwners, "foreign-dies": foreignDies,
	"past":      past,
	"endings":   endings,
	"no-server": noServer,
	"troubles":  troubles, "config": rewrite, "operator": operator, "node": node, "remove-job": removeJob,
}

// past prints how the newest run ended, and which items fail.
func past(c *cluster, _ *arguments) error {
	p := c.look(&c.watcher).Past()
	if p.Latest.At == 0 {
		c.say("no run has ended")
		return nil
	}
	c.say("latest %s at %s", p.Latest.State, secondsOf(p.Latest.At))
	for _, s := range p.Streaks {
		if s.Failures > 0 {
			c.say("item %d failed %d in a row", s.Item, s.Failures)
		}
	}
	return nil
}

// endings prints what became of the newest instants.
func endings(c *cluster, _ *arguments) error {
	for _, e := range c.look(&c.watcher).Endings() {
		c.say("%s: %d of %d ended well%s%s", secondsOf(e.Instant), e.Well, e.Of, given(e.Good(), ", good"), given(e.Open, ", open"))
	}
	if len(c.printed) == 0 {
		c.say("none")
	}
	return nil
}

// troubles prints the troubles that the member which was started first reports.
func troubles(c *cluster, _ *arguments) error {
	for _, t := range c.me.state.Troubles() {
		c.say("%s", spelled.ReplaceAllStringFunc(t.String(), c.nodeOf))
	}
	if len(c.printed) == 0 {
		c.say("none")
	}
	return nil
}

func configure(c *cluster, a *arguments) error {
	j := &c.config
	var err error
	if j.Shards, err = strconv.Atoi(a.key("total", strconv.Itoa(j.Shards))); err != nil {
		return err
	}
	if skew := a.key("skew", ""); skew != "" {
		ms, err := msOf(skew)
		if err != nil {
			return err
		}
		j.MaxClockSkew = time.Duration(ms) * time.Millisecond
	}
	minutes, err := strconv.Atoi(a.key("reconcile", strconv.Itoa(int(j.ReconcileEvery/time.Minute))))
	if err != nil {
		return err
	}
	j.ReconcileEvery = time.Duration(minutes) * time.Minute
	j.Strategy, j.Kind = a.key("strategy", j.Strategy), job.Kind(a.key("kind", string(j.Kind)))
	j.Class = a.key("class", j.Class)
	if layouts := a.key("layout", ""); layouts != "" {
		c.job = layout.New(layouts, "ns", "job")
		c.watcher = c.newEye()
	}
	if j.Cron = a.key("cron", j.Cron); j.Cron == "manual" {
		j.Cron = ""
	}
	for name, b := range map[string]*bool{"failover": &j.Failover, "misfire": &j.Misfire, "monitor": &j.MonitorExecution, "disabled": &j.Disabled} {
		if a.flag(name) {
			*b = true
		}
		if a.key(name, "") == "off" {
			*b = false
		}
	}
	return nil
}

func options(a *arguments) (protocol.Options, error) {
	var o protocol.Options
	o.Removed = a.flag("removed")
	o.Reads = func(cron string) bool { return !strings.HasPrefix(cron, "unreadable") }
	if module := a.key("module", ""); !a.flag("found") && !o.Removed {
		o.Define = protocol.Definition{Config: spelling.Text(nil), Module: moduleText(module)} // the configuration is the cluster's
	}
	o.Zoneless = a.flag("zoneless")
	o.Lost = a.flag("lost")
	if known := a.key("knows", ""); known != "" {
		o.Knows = func(strategy string) bool { return strategy == known }
	}
	o.Started, o.Completed = a.flag("started"), a.flag("completed")
	o.Queue, o.Replace, o.Finish = a.flag("queue"), a.flag("replace"), a.flag("finish")
	if name, value, ok := strings.Cut(a.key("label", ""), ":"); ok {
		o.Labels = map[string]string{name: value}
	}
	var err [9]error
	o.CatchUp, err[8] = strconv.Atoi(a.key("catchup", "0"))
	o.Linger, err[6] = msOf(a.key("linger", "0"))
	if attempts := a.key("retry", ""); attempts != "" {
		o.Retry = protocol.RetryPolicy{Backoff: 1000, MaxBackoff: 3000, OnlyAsked: a.flag("only-asked")}
		o.Retry.Attempts, err[5] = strconv.Atoi(attempts)
	}
	o.MaxBytes, err[7] = strconv.Atoi(a.key("bytes", "0"))
	o.MaxNodes, err[4] = strconv.Atoi(a.key("nodes", "0"))
	o.ReshardWait, err[0] = msOf(a.key("wait", "5"))
	o.PruneAfter, err[1] = msOf(a.key("prune", "0"))
	o.Slots, err[2] = strconv.Atoi(a.key("slots", "0"))
	o.MaxUnstored, err[3] = strconv.Atoi(a.key("unstored", "0"))
	return o, errors.Join(err[:]...)
}

func start(c *cluster, a *arguments) error {
	o, err := options(a)
	if err != nil {
		return err
	}
	for _, name := range a.all() {
		c.join(name, o)
		if err := c.calm(); err != nil {
			return err
		}
	}
	// Later revisions do not depend on how much has happened so far.
	c.tree.Advance((c.tree.Revision()/100 + 1) * 100)
	return nil
}

func newMembers(c *cluster, a *arguments) error {
	o, err := options(a)
	for _, name := range a.all() {
		c.join(name, o)
	}
	return err
}

func prefer(c *cluster, a *arguments) error {
	c.prefer = a.all()
	return nil
}

func chooseMe(c *cluster, a *arguments) error {
	if c.me = c.members[a.word()]; c.me == nil {
		return errors.New("there is no such member")
	}
	return nil
}

func setClock(c *cluster, a *arguments) (err error) {
	c.now, err = msOf(a.word())
	return err
}

func die(c *cluster, a *arguments) error {
	for _, name := range a.all() {
		m := c.members[name]
		if m == nil {
			return fmt.Errorf("there is no member %s", name)
		}
		c.die(m)
	}
	return nil
}

func rewrite(c *cluster, a *arguments) error {
	if err := configure(c, a); err != nil {
		return err
	}
	return c.tool(protocol.PutConfig{Config: c.encoded()})
}

func operator(c *cluster, a *arguments) error {
	switch what := a.word(); what {
	case "pause", "resume":
		p, err := pauseOf(a)
		if err != nil {
			return err
		}
		return c.tool(protocol.SetPaused{Paused: what == "pause", Pause: p})
	case "follow":
		return c.tool(protocol.Follow{})
	case "reshard":
		return c.tool(protocol.MarkReshard{})
	case "trigger":
		m := protocol.RequestTrigger{}
		for _, name := range a.all() {
			m.To = append(m.To, idOf(name))
		}
		if m.To == nil {
			for _, in := range c.look(&c.watcher).Instances {
				m.To = append(m.To, in.ID)
			}
		}
		return c.tool(m)
	case "disable-item", "enable-item":
		i, err := strconv.Atoi(a.word())
		if err != nil {
			return err
		}
		return c.tool(protocol.DisableItem{Item: i, Disabled: what == "disable-item"})
	case "disable-server", "enable-server":
		return c.tool(protocol.DisableServer{IP: idOf(a.word()).IP(), Disabled: what == "disable-server"})
	case "backfill":
		queues, err := queuesOf(a)
		if err != nil {
			return err
		}
		return c.tool(protocol.PutBackfill{Queues: queues})
	case "run":
		return runItems(c, a)
	case "cancel-backfill":
		items, err := itemsOf(a.word())
		if err != nil {
			return err
		}
		return c.tool(protocol.DropBackfill{Items: items})
	case "remove":
		return c.write(registry.Op{Kind: registry.Delete, Path: c.job.Instance(idOf(a.word())), Version: registry.AnyVersion})
	default:
		return fmt.Errorf("an operator has no %q", what)
	}
}

// queuesOf reads 0-1 at 110 120.
func queuesOf(a *arguments) ([]protocol.Backfill, error) {
	items, err := itemsOf(a.word())
	if err != nil {
		return nil, err
	}
	var instants []int64
	for _, w := range a.all() {
		if w == "at" {
			continue
		}
		at, err := msOf(w)
		if err != nil {
			return nil, err
		}
		instants = append(instants, at)
	}
	var queues []protocol.Backfill
	for _, i := range items {
		queues = append(queues, protocol.Backfill{Item: i, Instants: instants})
	}
	return queues, nil
}

func (c *cluster) mark() string { return path.Join(c.root(), "leader", "sharding", "necessary") }

func foreignSession(name string) registry.SessionID { return registry.SessionID(100 + name[0] - 'a') }

func joinForeign(c *cluster, a *arguments) error {
	leads := a.flag("leads")
	for _, name := range a.all() {
		session, id := foreignSession(name), idOf(name)
		ops := []registry.Op{{Kind: registry.CreateEphemeral, Path: c.job.Instance(id)}}
		if leads {
			ops = append(ops, registry.Op{Kind: registry.CreateEphemeral, Path: path.Join(c.root(), "leader", "election", "instance"), Data: []byte(id)})
		}
		if mark := c.mark(); !c.tree.Get(mark).Exists {
			ops = append(ops, registry.Op{Kind: registry.Create, Path: mark})
		}
		if _, _, err := c.tree.Commit(session, c.now, ops); err != nil {
			return err
		}
	}
	return nil
}

func writeOwners(c *cluster, a *arguments) error {
	var ops []registry.Op
	for i, name := range a.all() {
		at := path.Join(c.root(), "sharding", strconv.Itoa(i))
		if !c.tree.Get(at).Exists {
			ops = append(ops, registry.Op{Kind: registry.Create, Path: at})
		}
		for _, kid := range c.tree.Get(at + "/instance").Children {
			ops = append(ops, registry.Op{Kind: registry.Delete, Path: at + "/instance/" + kid, Version: registry.AnyVersion})
		}
		if c.tree.Get(at + "/instance").Exists {
			ops = append(ops, registry.Op{Kind: registry.Delete, Path: at + "/instance", Version: registry.AnyVersion})
		}
		ops = append(ops, registry.Op{Kind: registry.Create, Path: at + "/instance", Data: []byte(idOf(name))})
	}
	if mark := c.mark(); c.tree.Get(mark).Exists {
		ops = append(ops, registry.Op{Kind: registry.Delete, Path: mark, Version: registry.AnyVersion})
	}
	return c.write(ops...)
}

func foreignDies(c *cluster, a *arguments) error {
	for _, name := range a.all() {
		c.tree.EndSession(foreignSession(name), c.now)
	}
	return nil
}

// nodeLine is the grammar of the command node.
var nodeLine = regexp.MustCompile(`^(create|set|delete|session (\d+)) (\S+)(?: = (.*))?$`)

func node(c *cluster, a *arguments) error {
	m := nodeLine.FindStringSubmatch(c.expand(a.raw()))
	if m == nil {
		return errors.New("node create|set|delete|session N path [= value]")
	}
	op := registry.Op{Path: path.Join(c.root(), m[3]), Data: []byte(m[4]), Version: registry.AnyVersion}
	var session int64
	switch m[1] {
	case "create":
		op.Kind = registry.Create
	case "set":
		op.Kind = registry.Set
	case "delete":
		op.Kind = registry.Delete
	default:
		op.Kind = registry.CreateEphemeral
		session, _ = strconv.ParseInt(m[2], 10, 64)
	}
	_, _, err := c.tree.Commit(registry.SessionID(session), c.now, []registry.Op{op})
	return err
}

// removeJob deletes all nodes of the job, as a tool does.
func removeJob(c *cluster, _ *arguments) error {
	var below func(at string) error
	below = func(at string) error {
		for _, name := range c.tree.Get(at).Children {
			if err := below(path.Join(at, name)); err != nil {
				return err
			}
		}
		_, _, err := c.tree.Commit(0, c.now, []registry.Op{{Kind: registry.Delete, Path: at, Version: registry.AnyVersion}})
		return err
	}
	return below(c.root())
}
