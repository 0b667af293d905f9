package servertree

import (
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
)

// Names of nodes below the job's own node, in which {ip} is an address and {i} an item.
const (
	Config      = "config"
	ConfigKey   = "config/{key}" // in layout 1
	Servers     = "servers"
	Server      = "servers/{ip}"
	HostName    = "servers/{ip}/hostName"
	Status      = "servers/{ip}/status"
	Sharding    = "servers/{ip}/sharding"
	Disabled    = "servers/{ip}/disabled"
	Paused      = "servers/{ip}/paused"
	Stopped     = "servers/{ip}/stoped" // of releases before 1.0.8
	Shutdown    = "servers/{ip}/shutdown"
	Trigger     = "servers/{ip}/trigger"
	Successes   = "servers/{ip}/processSuccessCount"
	Failures    = "servers/{ip}/processFailureCount"
	Execution   = "execution"
	Item        = "execution/{i}"
	Running     = "execution/{i}/running"
	Completed   = "execution/{i}/completed"
	Failover    = "execution/{i}/failover"
	Misfire     = "execution/{i}/misfire"
	LastBegin   = "execution/{i}/lastBeginTime"
	LastEnd     = "execution/{i}/lastCompleteTime"
	NextFire    = "execution/{i}/nextFireTime"
	Offset      = "offset/{i}"
	Host        = "leader/election/host"
	Latch       = "leader/election/latch"
	Necessary   = "leader/sharding/necessary"
	Processing  = "leader/sharding/processing"
	Repair      = "leader/execution/necessary"
	Cleaning    = "leader/execution/cleaning"
	Pending     = "leader/failover/items/{i}"
	FailLatch   = "leader/failover/latch"
	Started     = "guarantee/started/{i}"
	Ended       = "guarantee/completed/{i}"
	Clock       = "systemTime/current{digits}"
	Contender   = "{latch}/_c_{uuid}-latch-{digits}" // below the node of a latch
	placeServer = "{ip}"
	placeItem   = "{i}"
	placeKey    = "{key}"
)

// Value is what the data of a node may be.
type Value uint8

// Values of nodes.
const (
	Empty  Value = iota // always
	Text                // any
	State               // READY or RUNNING
	Items               // a list such as 0,1,2
	Number              // of what was counted
	Millis              // since 1970
	Addr                // of a server
)

// Node is a row of the table.
type Node struct {
	Name      string
	Ephemeral bool
	Value     Value
	Only      string // the one layout that has it; "": both
	By, Until string // what writes it, and what ends it
}

// Nodes lists all nodes that members of either layout and their consoles write, except
// those that only have others below them.
var Nodes = []Node{
	{Config, false, Text, "", "a member at its start; a console", "removal of the job"},
	{ConfigKey, false, Text, "1", "a member at its start, if it is missing or the member overwrites; a console", "removal of the job"},
	{HostName, false, Text, "", "a member at its start", "a console removes the server"},
	{Status, true, State, "", "a member: READY from its start, RUNNING in a round if execution is monitored", "the session; the member, when a console shuts it down or its session is another"},
	{Sharding, false, Items, "", "the leader", "the next assignment, which deletes all of them first"},
	{Disabled, false, Empty, "", "a console; a member that overwrites and is configured so", "a console; such a member"},
	{Paused, false, Empty, "", "a console", "a console; the member's next start"},
	{Stopped, false, Empty, "1", "a console of a release before 1.0.8, which has no paused", "a console; the member's next start"},
	{Shutdown, false, Empty, "", "a console", "the member's next start"},
	{Trigger, false, Empty, "", "a console", "the member, even if it does not run then, since it is paused, disabled or running; it stays if the member is gone"},
	{Successes, false, Number, "1", "a member with a dataflow, each processCountIntervalSeconds", "a console removes the server"},
	{Failures, false, Number, "1", "a member with a dataflow, each processCountIntervalSeconds", "a console removes the server"},
	{Item, false, Empty, "", "a member at the item's first run; the leader, when the total has grown", "the leader, when the total has shrunk; each member, when monitoring is switched off"},
	{Running, true, Empty, "", "the member that runs the item, if execution is monitored", "that member, at the end; its session"},
	{Completed, false, Empty, "", "the member that has run the item, if execution is monitored", "the leader, before the next round; in 1.0.6 the member that runs the item next"},
	{Failover, true, Addr, "", "the taker", "the taker, at the end; its session"},
	{Misfire, false, Empty, "", "the item's owner, when a round outlasts an instant, or a pause ends and misfire is off", "the owner, before the round that compensates for it"},
	{LastBegin, false, Millis, "", "the member that runs the item, if execution is monitored", "the item is removed"},
	{LastEnd, false, Millis, "", "the member that has run the item, if execution is monitored", "the item is removed"},
	{NextFire, false, Millis, "", "the member that runs the item, if execution is monitored", "the item is removed"},
	{Offset, false, Text, "1", "the job's code, through its member; it has read it when its round began", "removal of the job"},
	{Host, true, Addr, "", "the member that is first in the latch", "its session; the leader itself, when a console disables, pauses or shuts it down"},
	{Latch, false, Empty, "", "the first member", "removal of the job"},
	{Necessary, false, Empty, "", "any member: at its start, or when it sees another end, the total change, a new leader, a server disabled or enabled", "the leader's transaction that assigns"},
	{Processing, true, Empty, "", "the leader while it assigns", "the leader's transaction that assigns"},
	{Repair, false, Empty, "", "a member: in layout 1 at its start, in both when the total changes", "the leader, when it has cleaned"},
	{Cleaning, true, Empty, "", "the leader while it deletes what rounds before have completed", "the leader"},
	{Pending, false, Empty, "", "any survivor, for each item that a dead member was running", "the taker"},
	{FailLatch, false, Empty, "", "the first member that is to take an item over", "removal of the job"},
	{Started, false, Empty, "", "a member with a listener that runs once", "the last of these members, after its listener"},
	{Ended, false, Empty, "", "a member with a listener that runs once", "the last of these members, after its listener"},
	{Clock, true, Text, "", "a member that compares clocks; the value is an address of its client", "its session"},
	{Contender, true, Empty, "", "a member that is to lead or to take over", "that member; its session"},
}

// ItemDisabled is a node that only servers of ours write.
const ItemDisabled = "execution/{i}/disabled"

var itemDisabled = Node{ItemDisabled, false, Empty, "", "-", "-"}

// parents only have others below them.
var parents = []string{"leader", "leader/election", "leader/sharding", "leader/execution", "leader/failover", "leader/failover/items",
	Servers, Server, Execution, "offset", "guarantee", "guarantee/started", "guarantee/completed", "systemTime"}

// NodeOf returns the row of a node by its path below the job's own node. arg is the
// address, item or key in the path.
func NodeOf(path string) (n Node, arg string, ok bool) {
	for _, row := range Nodes {
		if arg, ok := match(row.Name, path); ok {
			return row, arg, true
		}
	}
	if arg, ok := match(ItemDisabled, path); ok {
		return itemDisabled, arg, true
	}
	for _, name := range parents {
		if arg, ok := match(name, path); ok {
			return Node{Name: name, By: "whoever writes below it", Until: "removal of the job, or of the server"}, arg, true
		}
	}
	return Node{}, "", false
}

// match reports whether a path fits a name of the table. arg is the part of the path that
// stands for the name's placeholder.
func match(name, path string) (arg string, ok bool) {
	if name == Contender {
		// The place is in the queue of one of the two latches.
		latch, place, _ := cutLast(path)
		return place, (latch == Latch || latch == FailLatch) && strings.HasPrefix(place, "_c_")
	}
	if before, found := strings.CutSuffix(name, "{digits}"); found {
		digits, ok := strings.CutPrefix(path, before)
		return digits, ok && strings.Trim(digits, "0123456789") == ""
	}
	want, have := strings.Split(name, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return "", false
	}
	for k, w := range want {
		if w == have[k] {
			continue
		}
		switch w {
		case placeServer, placeKey:
			arg = have[k]
		case placeItem:
			if _, ok := spelling.ItemNumber(have[k]); !ok {
				return "", false
			}
			arg = have[k]
		default:
			return "", false
		}
	}
	return arg, true
}

// cutLast divides a path at its last slash.
func cutLast(path string) (parent, name string, ok bool) {
	k := strings.LastIndexByte(path, '/')
	if k < 0 {
		return "", path, false
	}
	return path[:k], path[k+1:], true
}
