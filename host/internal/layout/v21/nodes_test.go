package v21

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

//go:generate go test -run ^TestNodesPage$ -update .

var update = flag.Bool("update", false, "write the page of nodes anew")

// nodeRow is a node of a job, with what writes and what deletes it. Mutations are values,
// so that they follow a rename.
type nodeRow struct {
	path, kind, value string
	by, until         []any // mutations, or words
}

const (
	persistent = ""
	ephemeral  = "ephemeral"
	inQueue    = "ephemeral, sequential"
)

var theirNodes = []nodeRow{
	{jobtree.NodeConfig, persistent, "configuration as one line of JSON, in ElasticJob's order and escaping", mutations(protocol.Setup{}, protocol.Define{}, protocol.PutConfig{}), mutations("removal of the job")},
	{jobtree.NodeServers + "/{ip}", persistent, "empty: enabled; `" + valueDisabled + "`", mutations("Join and SetServer, if it is absent", protocol.DisableServer{}), mutations(protocol.PruneServers{}, "if the server is long gone and not disabled")},
	{jobtree.NodeInstances + "/{id}", ephemeral, "empty; `" + valueTrigger + "` until the member's Begin empties it", mutations(protocol.Join{}, protocol.RequestTrigger{}, protocol.Begin{}), mutations(protocol.Leave{}, "an operator, who shuts the job down there by that")},
	{jobtree.NodeSharding + "/{i}", persistent, "empty", mutations(protocol.Reshard{}, protocol.Owners{}), mutations("Reshard or Owners, when the total has shrunk")},
	{jobtree.NodeSharding + "/{i}/" + jobtree.MarkInstance, persistent, "`id` of the owner", mutations(protocol.Reshard{}, protocol.Owners{}), mutations("the item is removed", "beside foreign members also a change of owner, DeleteOwners and Leave")},
	{jobtree.NodeSharding + "/{i}/" + jobtree.MarkRunning, ephemeral, "empty; only if execution is monitored", mutations(protocol.Begin{}, protocol.Take{}), mutations(protocol.Complete{}, protocol.ClearMarks{}, "the item is removed")},
	{jobtree.NodeSharding + "/{i}/" + jobtree.MarkMisfire, persistent, "empty", mutations(protocol.MarkMisfire{}), mutations("Begin, unless it catches up an instant and a newer one has come", "the item is removed")},
	{jobtree.NodeSharding + "/{i}/" + jobtree.MarkDisabled, persistent, "empty", mutations(protocol.DisableItem{}), mutations(protocol.DisableItem{}, "the item is removed")},
	{jobtree.NodeSharding + "/{i}/" + jobtree.MarkFailover, ephemeral, "`id` of the taker", mutations(protocol.Take{}), mutations(protocol.Complete{}, protocol.ClearMarks{}, "the item is removed")},
	{jobtree.NodeLeaderInstance, ephemeral, "`id` of the leader", mutations(protocol.Elect{}), mutations(protocol.Abdicate{}, protocol.Leave{})},
	{jobtree.NodeLatch, persistent, "empty", mutations(protocol.Setup{}, protocol.Contend{}), mutations("removal of the job")},
	{jobtree.NodeFailoverLatch, persistent, "empty", mutations(protocol.Contend{}), mutations("removal of the job")},
	{jobtree.NodeLatch + "/" + spelling.LatchPrefix + "{token}-" + spelling.LatchName + "{digits}", inQueue, "empty. The token, which is no fencing token, identifies the session. The failover latch has such nodes as well", mutations(protocol.Contend{}), mutations(protocol.Elect{}, protocol.Take{}, protocol.Withdraw{})},
	{jobtree.NodeNecessary, persistent, "empty: a reshard is requested", mutations(protocol.MarkReshard{}, protocol.Join{}, protocol.DeleteOwners{}, "if it is there: Leave and a Reshard in parts set it"), mutations(protocol.Reshard{}, "the last Owners")},
	{jobtree.NodeProcessing, ephemeral, "empty: items are being assigned", mutations("ElasticJob", "a Reshard in two steps"), mutations(protocol.Reshard{}, "the last Owners", protocol.ClearProcessing{})},
	{jobtree.NodeFailoverItems + "/{i}", persistent, "our pending run; ElasticJob writes nothing and reads names only", mutations(protocol.Reclaim{}, protocol.ReclaimForeign{}, protocol.Account{}), mutations(protocol.Take{}, protocol.Drop{}, protocol.Begin{})},
	{jobtree.NodeStarted + "/{i}", persistent, "empty: the item has begun its instant", mutations("ElasticJob", protocol.JoinRound{}), mutations(protocol.Release{}, "a member of ElasticJob, after its listener")},
	{jobtree.NodeCompleted + "/{i}", persistent, "empty: the item has ended it", mutations("ElasticJob", protocol.JoinRound{}), mutations(protocol.Release{}, "a member of ElasticJob, after its listener")},
}

// nodes3 are ElasticJob's nodes that differ in layout 3, or that only it has.
var nodes3 = []nodeRow{
	{"", persistent, "the class that members of ElasticJob run, or `SCRIPT`", mutations(protocol.Setup{}, protocol.Define{}, protocol.PutConfig{}), mutations("removal of the job")},
	{jobtree.NodeConfig, persistent, "configuration as YAML, in ElasticJob's order and quotes", mutations(protocol.Setup{}, protocol.Define{}, protocol.PutConfig{}), mutations("removal of the job")},
	{jobtree.NodeServers + "/{ip}", persistent, "`ENABLED`; `DISABLED`", mutations("Join and SetServer, if it is absent", protocol.DisableServer{}), mutations(protocol.PruneServers{}, "if the server is long gone and not disabled")},
	{jobtree.NodeInstances + "/{id}", ephemeral, "`jobInstanceId` and `serverIp` as YAML", mutations(protocol.Join{}), mutations(protocol.Leave{}, "an operator, who shuts the job down there by that")},
	{jobtree.NodeTrigger + "/{id}", persistent, "empty: the member is to begin its items", mutations(protocol.RequestTrigger{}), mutations(protocol.Begin{}, protocol.Leave{}, "a later RequestTrigger if the member is gone")},
	{jobtree.NodeSharding + "/{i}/" + jobtree.MarkRunning, "ephemeral without failover", "`id` of the member that runs it; only if execution is monitored", mutations(protocol.Begin{}, protocol.Take{}), mutations(protocol.Complete{}, protocol.ClearMarks{}, "the item is removed")},
	{jobtree.NodeSharding + "/{i}/" + jobtree.MarkFailovering, persistent, "`id` of the taker", mutations(protocol.Take{}), mutations(protocol.Complete{}, protocol.ClearMarks{}, "the item is removed")},
}

var ourNodes = []nodeRow{
	{jobtree.NodeWasm, persistent, "empty. Every transaction sets it last, to learn the revision from the receipt; no member watches it", mutations(protocol.Setup{}), mutations("removal of the job")},
	{jobtree.NodeAssignment, persistent, "the owner of each item; [keys](#keys). Its version is the **epoch** of the job", mutations(protocol.Setup{}, protocol.Reshard{}, protocol.Adopt{}, protocol.Reclaim{}, protocol.ReclaimForeign{}, protocol.Account{}, protocol.Leave{}), mutations("removal of the job")},
	{jobtree.NodeAssignment + "/{i}", persistent, "past instants that an operator requested, and that the item's owner is to begin; [keys](#keys)", mutations(protocol.PutBackfill{}, "Begin, which takes the oldest"), mutations("the Begin of the last one", protocol.DropBackfill{}, "the item is removed")},
	{jobtree.NodeRuns + "/{id}", persistent, "the **record** of one member; [keys](#keys)", mutations(protocol.Join{}, "then only the member", protocol.RecordMissed{}), mutations(protocol.Leave{}, protocol.Reclaim{})},
	{jobtree.NodeModule, persistent, "the job's modules, and its settings for which ElasticJob has no key; [keys](#keys)", mutations(protocol.Setup{}, protocol.Define{}, protocol.Switch{}), mutations("removal of the job")},
	{jobtree.NodeMembers + "/{id}", ephemeral, "facts about the member for others, such as labels and address; [keys](#keys)", mutations(protocol.Join{}, protocol.Publish{}), mutations(protocol.Leave{})},
	{jobtree.NodeItems + "/{i}/" + jobtree.MarkState, persistent, "values that the item's guests store, in base64; [keys](#keys)", mutations("runs of the item, outside of mutations"), mutations("removal of the job; it stays when the total shrinks")},
	{jobtree.NodeFires, persistent, "how far the listeners of fires have been called, and whether jobs run after this one; [keys](#keys)", mutations(protocol.SetFires{}, protocol.JoinRound{}, protocol.Follow{}), mutations("removal of the job")},
	{jobtree.NodePaused, persistent, "operator, reason and end of a pause; [keys](#keys). The job is paused until that end, or until the node is deleted, even if the value cannot be read", mutations(protocol.SetPaused{}), mutations(protocol.SetPaused{})},
	{jobtree.NodeRemoval, persistent, "empty: the job's removal has deleted the definition, and has yet to delete the rest. Members read it if there is no `config`", mutations("a removal in parts, which deletes the definition with it"), mutations("the last transaction of the removal, of another `job remove` or `job create`, or of a server that is to define the job")},
	{jobtree.NodeMigration, persistent, "the job's former layout, and the former values of its nodes; [keys](#keys). No member reads it", mutations("`job migrate`, with the configuration in the new layout"), mutations("`job migrate --back`, or another `job migrate` once a member has joined")},
	{jobtree.NodeSharding + "/0/" + jobtree.MarkSeal, persistent, "empty: the **seal**. No foreign leader has begun to assign since the last adoption", mutations(protocol.Adopt{}), mutations("the next assignment by a foreign leader, which deletes each owner's node with what is below it", protocol.Reshard{}, "Leave or DeleteOwners of the owner of item 0")},
}

// clusterNodes are in the root of a cluster, beside the namespace.
var clusterNodes = []nodeRow{
	{clustertree.NodeTokens, persistent, "all tokens, by name; [keys](#keys)", mutations("`token create`, `token revoke`", "any server, when a token has expired for a day"), nil},
	{clustertree.NodeSessions, persistent, "sessions of browsers, the oldest first; [keys](#keys)", mutations("a browser signs in or out"), nil},
	{clustertree.NodeAudit + "/" + clustertree.AuditPrefix + "{digits}", "sequential", "a row of the audit; [keys](#keys). The node has the time of the change", mutations("each verb that writes"), mutations("there are " + strconv.Itoa(clustertree.MaxRows) + " newer ones")},
	{clustertree.NodeKeys + "/{two digits}", persistent, "idempotency keys whose SHA-256 begins with these digits, the oldest first; unless the verb is a trigger, its name goes before the key; [keys](#keys)", mutations("a trigger or a backfill with a key"), nil},
	{clustertree.NodeCancels, persistent, "the newest requests to cancel runs, the oldest first; [keys](#keys)", mutations("`job cancel`"), nil},
	{clustertree.NodeAlerts, persistent, "troubles of jobs, and silences, by job; [keys](#keys)", mutations("a server that finds a trouble, or delivers an alert", "`alert silence`, `alert unsilence`"), nil},
	{clustertree.NodeServers + "/{key}", ephemeral, "where a server answers the others; it is named by its public key of Ed25519, in hex; [keys](#keys)", mutations("a server with `[admin]` on ZooKeeper"), mutations("its session ends")},
	{clustertree.NodeDrains, persistent, "drained servers, which start nothing, by address; [keys](#keys)", mutations("`server drain`, `server undrain`"), nil},
	{clustertree.NodeVersions, persistent, "named modules, by name and version; [keys](#keys)", mutations("`module push --name`, `module rm`"), nil},
	{clustertree.NodeMaintenance, persistent, "the present maintenance, or the last one; [keys](#keys)", mutations("`maintenance start`, `maintenance end`"), nil},
	{clustertree.NodeDeliverer, ephemeral, "id of the server that delivers alerts", mutations("the first server with `[notify]`"), mutations("its session ends")},
}

// parents are above these nodes, persistent and empty.
var parents = []string{jobtree.NodeServers, jobtree.NodeInstances, jobtree.NodeLeader, jobtree.NodeElection, jobtree.NodeLeaderSharding, jobtree.NodeSharding, jobtree.NodeFailover, jobtree.NodeFailoverItems, jobtree.NodeGuarantee, jobtree.NodeMembers, jobtree.NodeRuns, jobtree.NodeItems}

// valueKeys are the keys of our values, in the order of the page.
var valueKeys = []struct {
	of   string
	keys [][2]string
}{
	{"every node of ours", [][2]string{
		{"v", "version of the value's form; a server decides nothing by a version that it does not know"},
	}},
	{"`" + jobtree.NodeAssignment + "`", [][2]string{
		{"total", "number of items"},
		{"members", "ids of the members that own items, descending"},
		{"owners", "ranges `[from,to,index into members]`"},
		{"packed", "in place of `owners` if that would have too many ranges: by item, the index into members, from 1"},
		{"departing", "items that their owners may not begin again, since they move when their open runs have ended"},
	}},
	{"`" + jobtree.NodeRuns + "/{id}`", [][2]string{
		{"seq", "number of the member's newest row"},
		{"open", "open runs"},
		{"retries", "runs that wait for their next attempt: each a run, and `after`"},
		{"after", "moment before which a retry must not begin, even as a pending run. In a row of the audit: the new state"},
		{"triggers", "accepted triggers whose items have not begun: `id`, `at`, `items`"},
		{"id", "of a trigger: the revision that wrote it"},
		{"at", "of a trigger: when it was accepted, or its key was used first"},
		{"items", "of a trigger: ranges `[from,to]`"},
		{"rows", "rows that the history does not hold yet"},
	}},
	{"assignment and `" + jobtree.NodeRuns + "/{id}`", [][2]string{
		{"last", "by item, the newest instant that is accounted for, also of items beyond the total"},
		{"requested", "by item, the newest trigger that was accepted, so that no trigger runs an item twice"},
		{"idle", "to know after a clock was ahead which instants have not begun: the newest four spans `[from,to]` of more than two minutes in which no item of the job began an instant"},
		{"resumed", "by item, the newest instant that began in such a span after a clock had been set back"},
		{"unattended", "when a member of a job with `catch_up` decided to join while no other member was there; what was missed before that is caught up"},
		{"begun", "ranges `[from,to,ms]`: when the newest run of each item began"},
		{"ended", "ranges `[from,to,ms]`: when a run of each item last ended"},
		{"flow", "`[succeeded,failed]`: elements that a dataflow has handled"},
		{"fire", "`[instant,succeeded,failed,skipped]`: how many runs of the newest instant ended in which way, for the listener of fires"},
		{"crons", "the newest four schedules, each `r`, `t`, `cron`"},
		{"r", "of a schedule: a revision of the registry at which it was in force"},
		{"t", "of a schedule: since when it was in force. Of `latest`: when the run ended. Of a run: its instant"},
		{"cron", "of a schedule, or of a row: its text"},
		{"latest", "the run that ended last: `t` and `state`"},
		{"streaks", "up to 64 `[item,failures,ms]`: how many runs of an item failed in a row, and when the newest of them ended"},
		{"tallies", "if jobs run after this one, up to 32 `[ms,items,of]`: how many items have ended an instant well, of how many"},
		{"numbers", "of a value by item in its short form: the numbers that occur"},
		{"of", "of a value by item in its short form: a varint for each item, in base64, which says which of `numbers` the item has, from 1; 0 is none"},
	}},
	{"a run", [][2]string{
		{"i", "items `[from,to,…]`; runs that agree in all else are one entry"},
		{"trigger", "id of its trigger, or `j` and the moment at which a foreign member was seen to begin it"},
		{"cause", "why it began"},
		{"n", "number of the attempt. In `" + jobtree.NodeFires + "`: of the call's attempt"},
		{"uncounted", "how many attempts before this one do not use up the job's `retry.attempts`, since their member left"},
		{"param", "the guest's parameter, in place of the job's"},
		{"first", "instant of the first attempt, if it differs"},
		{"b", "when it began"},
		{"dead", "of a pending run: the member that had it"},
	}},
	{"a row", [][2]string{
		{"s", "number of the row in its record"},
		{"state", "how the run ended"},
		{"code", "code of the [reason](REASONS.md), with its parameters"},
		{"why", "the words of the reason, for releases that know no codes"},
		{"e", "when it ended"},
		{"by", "the member that ran it. In `" + jobtree.NodeAssignment + "/{i}`: the operator who asked. In `" + jobtree.NodeFires + "`: the member that is calling. Of an idempotency key: the first digits of the SHA-256 of its caller's name"},
		{"gap", "`[after,until]`: the instants strictly between"},
	}},
	{"`" + jobtree.NodeModule + "`", [][2]string{
		{"module", "the present module: `name`, `digest`, `reference`"},
		{"name", "of a module: its name, for people"},
		{"digest", "of a module: SHA-256, in hex. The bytes are never in the registry"},
		{"reference", "of a module: where it came from"},
		{"next", "the next module. In `" + jobtree.NodeMembers + "`: the member's report about it, `digest` and `fault`"},
		{"fault", "in a member's report: why it cannot have the next module"},
		{"past", "the newest eight that ran before, the newest last"},
		{"strategy_module", "the module that assigns items"},
		{"pinned", "no file and no operator replaces the module. A release that does not know the key does not run the job"},
		{"made", "an operator made the job as it is, and no server has the job in its file. A release that does not know the key does not run the job"},
		{"pool", "of the setting `limits.instance`: how many instances the pool has"},
		{"max_uses", "of `limits.instance`: how many runs an instance of the pool has at most"},
		{"host", "of a granted directory: where it is on the server"},
		{"guest", "of a granted directory: where the guest finds it"},
		{"write", "of a granted directory: the guest may write"},
	}},
	{"`" + jobtree.NodeMembers + "/{id}`", [][2]string{
		{"labels", "labels of the server, for strategies"},
		{"address", "where the server offers modules to others. In `" + clustertree.NodeServers + "`: where it answers them"},
		{"defines", "the server's own file has the job, so a start of the server creates the job again when it is gone"},
		{"params", "the server's release can run an item with a parameter that an operator requested"},
	}},
	{"`" + jobtree.NodePaused + "`", [][2]string{
		{"since", "when the pause began. `by` is the operator, `why` the reason given"},
	}},
	{"`" + clustertree.NodeTokens + "`", [][2]string{
		{"tokens", "the tokens, ascending by `name`"},
		{"role", "what the token may do. In a row of the audit: the role of the caller's token"},
		{"hash", "SHA-256 of the token, in hex"},
		{"created", "when it was created"},
		{"until", "when it expires; left out: never. In `" + jobtree.NodePaused + "`: when the pause ends by itself"},
	}},
	{"`" + clustertree.NodeSessions + "`", [][2]string{
		{"sessions", "the sessions, at most " + strconv.Itoa(clustertree.MaxSessions) + ", and " + strconv.Itoa(clustertree.MaxSessionsOf) + " of a token. `hash` is that of the cookie, `until` when it expires"},
		{"token", "SHA-256 of the token that the browser signed in with: the session is valid while that is"},
	}},
	{"`" + clustertree.NodeAudit + "/{digits}`", [][2]string{
		{"who", "the caller: name of the token, or user"},
		{"way", "how the caller came in: `token`, `session` of a browser, `socket` or `registry`"},
		{"verb", "what was done, in the words of the command"},
		{"job", "the job. In `" + clustertree.NodeKeys + "`: the job for which the key was used"},
		{"detail", "parameters, as `name=value`"},
		{"before", "the state before the change, in short"},
		{"request", "id of the request, as in the log"},
	}},
	{"`" + clustertree.NodeKeys + "/{two digits}`", [][2]string{
		{"keys", "keys used within the last day"},
		{"key", "the first half of the SHA-256 of the key, in hex"},
	}},
	{"`" + clustertree.NodeCancels + "`", [][2]string{
		{"cancels", "the requests, at most " + strconv.Itoa(clustertree.MaxCancels)},
		{"item", "item whose run is to end"},
		{"run", "id of the run"},
		{"attempt", "which of its attempts is to end"},
		{"now", "the guest is to be ended without its grace"},
	}},
	{"`" + clustertree.NodeAlerts + "`", [][2]string{
		{"alerts", "the alerts, ascending by `job` and `kind`"},
		{"kind", "`failed`, `missed`, `late` or `too_long`"},
		{"items", "items concerned, ascending: a number, or a pair for all from the first to the second"},
		{"count", "how often the trouble was seen since `first`"},
		{"first", "when the trouble happened first, as `last` is when it happened last; of `missed`, the instant"},
		{"text", "text of the newest trouble"},
		{"notify", "notifiers of the job"},
		{"left", "notifiers that have yet to receive the newest state"},
		{"after", "the notifiers in `left` receive the state no earlier"},
		{"tries", "number of failed deliveries"},
		{"sent", "when a notifier last received the alert; if none did, when that was given up"},
		{"over", "when the trouble was over"},
		{"silences", "the silences, ascending by `job`; one without a job is for all jobs"},
		{"why", "the operator's reason"},
	}},
	{"`" + clustertree.NodeServers + "/{key}`", [][2]string{
		{"ip", "address in the ids of the server's instances"},
	}},
	{"`" + clustertree.NodeDrains + "`", [][2]string{
		{"drains", "the drains, at most " + strconv.Itoa(clustertree.MaxDrains) + ", ascending by `server`; each with `by`, `why` and `since`"},
		{"server", "address of the drained servers"},
		{"kept", "jobs for which the server was disabled before the drain, or by an operator during it, and stays so after it"},
		{"ending", "the drain is being ended: the server is enabled job by job"},
	}},
	{"`" + clustertree.NodeVersions + "`", [][2]string{
		{"versions", "the named modules, at most " + strconv.Itoa(clustertree.MaxVersions) + ", ascending by `name` and `version`"},
		{"version", "version of the module with that name; name and version have the same `digest` for ever"},
	}},
	{"`" + clustertree.NodeMaintenance + "`", [][2]string{
		{"paused", "jobs that it pauses, at most " + strconv.Itoa(clustertree.MaxMaintained) + "; also `by`, `why`, `since` and `until`"},
		{"extended", "pauses of these jobs that would have ended before, ascending by `job`; each with its own `since` and `until`"},
	}},
	{"other nodes", [][2]string{
		{"instants", "of `" + jobtree.NodeAssignment + "/{i}`: the instants of a backfill, ascending, at most " + strconv.Itoa(protocol.MaxBackfill)},
		{"started", "of `" + jobtree.NodeFires + "`: the newest fire whose listener was called, `t`, `n`, `by`"},
		{"completed", "of `" + jobtree.NodeFires + "`: the newest fire whose end has been reported, `t`, `n`, `by`"},
		{"followed", "of `" + jobtree.NodeFires + "`: jobs run after this one"},
		{"values", "of an item's state: the values, by key"},
		{"from", "of `" + jobtree.NodeMigration + "`: the layout that the job had"},
		{"to", "of `" + jobtree.NodeMigration + "`: the layout that it has now"},
		{"nodes", "of `" + jobtree.NodeMigration + "`: former values of rewritten nodes, by path"},
		{"ours", "of `" + jobtree.NodeMigration + "`: servers of ours had run the job, in layout 1 or 2.0"},
		{"added", "of `" + jobtree.NodeMigration + "`: nodes below `" + jobtree.NodeWasm + "` that the migration then added"},
	}},
}

// TestNodesPage writes and checks docs/NODES.md, the table of nodes.
func TestNodesPage(t *testing.T) {
	t.Parallel()
	const page = "../../../../docs/NODES.md"
	want := nodesPage()
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/NODES.md is not the table of nodes: run make generate (%v)", err)
	}
}

func nodesPage() []byte {
	var b bytes.Buffer
	b.WriteString("# Nodes of a job\n\nGenerated from `host/internal/layout/v21/nodes_test.go` by `make generate`; do not edit.\n\n" +
		"Paths are relative to `/{namespace}/{job}`. Nodes are persistent, except where *kind* says ephemeral: such a node is also deleted when\n" +
		"the session of its owner ends. Mutations, such as Setup, are in [MUTATIONS](MUTATIONS.md#mutations). `id` is `<ip>@-@<suffix>`; `i` is an item from 0, at most " + strconv.Itoa(spelling.MaxItems-1) + ".\n")
	for _, part := range []struct {
		heading, column string
		rows            []nodeRow
	}{
		{"ElasticJob's", "node of ElasticJob, layout 2.1", theirNodes},
		{"ElasticJob's in layout 3, where they differ", "node of ElasticJob, layout 3", nodes3},
		{"Ours", "our node of a job", ourNodes},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| %s | kind, if not persistent | value | mutations that write it | mutations or events that delete it |\n|---|---|---|---|---|\n", part.heading, part.column)
		for _, r := range part.rows {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", cmp.Or(r.path, "."), r.kind, r.value, names(r.by), names(r.until))
		}
	}
	fmt.Fprintf(&b, "\nThe parents of the nodes of a job are `%s`; they are persistent and empty.\n", strings.Join(parents, "`, `"))
	olderNodes(&b)
	fmt.Fprintf(&b, "\n## Of the cluster\n\nPaths are relative to `/{namespace}%s`. `%s` and `%s` are persistent and empty. If the last column is empty, a node stays until an operator deletes the root.\n\n| node of the cluster | kind, if not persistent | value | written by | deleted by, or when |\n|---|---|---|---|---|\n", clustertree.Suffix, clustertree.NodeAudit, clustertree.NodeKeys)
	for _, r := range clusterNodes {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.path, r.kind, r.value, names(r.by), names(r.until))
	}
	b.WriteString("\n## Keys\n\nInstants and moments are in ms since 1970. Zero values are left out. A value *by item* is ranges `[from,to,number]`,\n" +
		"`to` included; above " + strconv.Itoa(protocol.MaxRanges) + " ranges it is `{\"numbers\",\"of\"}`, the different numbers and for each item which of them, from 1.\n\n| value of the node | key | meaning |\n|---|---|---|\n")
	for _, v := range valueKeys {
		of := v.of
		for _, k := range v.keys {
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", of, k[0], k[1])
			of = ""
		}
	}
	b.WriteString("\n`" + jobtree.NodeModule + "` also has the job's [settings](SETTINGS.md) under their own names, and `base`: for each value of the file that was applied last,\n" +
		"the first 8 digits of its SHA-256. An unknown key makes the node unreadable, since it may be a bound.\n")
	return b.Bytes()
}

// TestNodesPageHasAll checks that each node, and each key of a value, has its line.
func TestNodesPageHasAll(t *testing.T) {
	t.Parallel()
	page := string(nodesPage())
	keys := map[string]bool{}
	for _, v := range valueKeys {
		for _, k := range v.keys {
			keys[k[0]] = true
		}
	}
	nodes, tags := nodesAndKeys(t)
	for name, value := range nodes {
		if !regexp.MustCompile("[`/]" + regexp.QuoteMeta(value) + "[`/]").MatchString(page) {
			t.Errorf("%s (%s) has no line in theirNodes, ourNodes or parents", name, value)
		}
	}
	for tag, where := range tags {
		if !keys[tag] {
			t.Errorf("%s: the key %q has no line in valueKeys", where, tag)
		}
		delete(keys, tag)
	}
	for key := range keys {
		t.Errorf("valueKeys has %q, which no value has", key)
	}
}

var jsonTag = regexp.MustCompile(`json:"([^",]+)`)

// nodesAndKeys returns the constants that name nodes, and the keys of our values.
func nodesAndKeys(t *testing.T) (nodes, tags map[string]string) {
	t.Helper()
	nodes, tags = map[string]string{}, map[string]string{}
	var files []string
	for _, pattern := range []string{"*.go", "../clustertree/*.go", "../jobtree/*.go", "../spelling/*.go", "../../definition/*.go"} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if name := n.Names[0].Name; (strings.HasPrefix(name, "Node") || strings.HasPrefix(name, "Mark")) && len(n.Values) == 1 {
					if text, ok := n.Values[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
						nodes[name] = strings.Trim(text.Value, `"`)
					}
				}
			case *ast.Field:
				if n.Tag != nil {
					if m := jsonTag.FindStringSubmatch(n.Tag.Value); m != nil {
						tags[m[1]] = file
					}
				}
			}
			return true
		})
	}
	return nodes, tags
}
