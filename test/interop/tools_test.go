package interop

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tools is a job whose operators use ElasticJob's own operations, those of its
// console: each method of its lifecycle API.
type tools struct {
	*cluster
	java  bool              // all members are of ElasticJob: the control
	known map[string]string // what servers of ours answer otherwise, by check
}

// differences are what is known to be otherwise on servers of ours.
var differences = map[string]string{
	"the cron cannot be read": "it stops",
	"the job was removed":     "somebody defines it",
}

// withStrategy is the end of what the tool tells of the usual settings.
func withStrategy(class string) string {
	return `parameter='' monitor=true streaming=false skew=-1 port=-1 failover=false misfire=false strategy='` + class + `' description='' properties=` +
		handlers + ` script='null' reconcile=10`
}

// handlers are the job's classes for errors and threads, as a map of Java prints them.
const handlers = "{executor_service_handler=com.dangdang.ddframe.job.executor.handler.impl.DefaultExecutorServiceHandler, job_exception_handler=com.dangdang.ddframe.job.executor.handler.impl.DefaultJobExceptionHandler}"

// useTools calls each method on three members. What the control answers and what
// servers of ours do is one table: they may differ only in what is known.
func useTools(c *cluster, java bool) {
	t := &tools{cluster: c, java: java, known: differences}
	ips := []string{oursA, oursB, oursC}
	if java {
		t.known, ips = nil, []string{javaA, javaB, javaC}
	}
	for _, ip := range ips {
		c.member(ip, java)
		t.present(len(c.members))
	}
	t.statistics()
	t.triggers()
	t.disables()
	t.changes()
	t.crons()
	t.shutdowns()
	t.removals()
}

// name is that of a member of this job, by its number.
func (t *tools) name(m int) string { return t.members[m].ip }

// ask calls a method.
func (t *tools) ask(method string, args ...string) string {
	t.Helper()
	said, err := t.operator.call(t.cluster.name, jobName, append([]string{method}, args...)...)
	if err != nil {
		t.Error(err)
	}
	for k, m := range t.members {
		said = strings.ReplaceAll(said, m.ip, string(rune('A'+k)))
	}
	return strings.TrimSuffix(said, ";")
}

// refused calls a method with what it must not take.
func (t *tools) refused(method string, args ...string) {
	t.Helper()
	_, err := t.operator.call(t.cluster.name, jobName, append([]string{method}, args...)...)
	t.check(method+" refuses", err != nil && strings.Contains(err.Error(), "IllegalArgumentException"), "%v: %v", args, err)
}

// soon is how long something may take that both kinds do when they hear of it.
const soon = 15 * time.Second

// see waits until it is as wanted, or, where that is known, otherwise.
func (t *tools) see(what, want string, look func() string) {
	t.Helper()
	if other, ok := t.known[what]; ok {
		want = other
	}
	var got string
	late := time.Now().Add(soon)
	t.await(what, func() bool {
		got = look()
		return got == want || time.Now().After(late)
	})
	t.check(what, got == want, "\n%s\ninstead of\n%s", got, want)
}

// says is what a method tells.
func (t *tools) says(what, want, method string, args ...string) {
	t.Helper()
	t.see(what, want, func() string { return t.ask(method, args...) })
}

// present waits until so many members are there, one of them leads, and what
// came with them is done.
func (t *tools) present(members int) {
	t.Helper()
	t.await("members", func() bool {
		return len(t.node("instances").Children) == members && (t.leader() != nil || members == 0)
	})
	t.pass(500 * time.Millisecond)
}

// restart begins another life of a member, whatever became of the one before.
func (t *tools) restart(members ...int) {
	t.Helper()
	for _, m := range members {
		if t.members[m].up() {
			t.members[m].stop()
		}
		t.members[m].start()
	}
	t.present(len(t.members))
}

// mayEnd: processes may end that nobody has ended, as the library's does without
// its job.
func (t *tools) mayEnd() {
	for _, m := range t.members {
		m.running.asked = true
	}
}

// ran tells which items have run to their end since, and where.
func (t *tools) ran(since time.Time) string {
	t.Helper()
	n, by := map[int]int{}, []string{}
	for _, r := range t.cluster.runs() {
		if r.Start < since.UnixMilli() || r.End == 0 {
			continue
		}
		n[r.Item]++
		for k, m := range t.members {
			if name := string(rune('A' + k)); m.ip == r.Member && !slices.Contains(by, name) {
				by = append(by, name)
			}
		}
	}
	if len(n) == 0 {
		return "nothing, by nobody"
	}
	slices.Sort(by)
	var items []string
	for item := range 100 {
		if n[item] > 0 {
			items = append(items, strconv.Itoa(item)+strings.Repeat("!", n[item]-1)) // a mark for each time too many
		}
	}
	return strings.Join(items, " ") + ", by " + strings.Join(by, " ")
}

// trigger has it run, and looks at what ran.
func (t *tools) trigger(what, want string, args ...string) {
	t.Helper()
	t.pass(500 * time.Millisecond) // what was done before is heard of
	since := time.Now()
	t.ask("JobOperateAPI.trigger", args...)
	if strings.HasPrefix(want, "nothing") {
		t.pass(time.Second) // for what should not come
	}
	t.see(what, want, func() string { return t.ran(since) })
}

// set changes settings.
func (t *tools) set(changes ...string) {
	t.Helper()
	t.ask("JobSettingsAPI.updateJobSettings", jobName, strings.Join(changes, "|"))
}

const (
	sixBy = "0 1 2 3 4 5, by "
	all   = sixBy + "A B C"
)

// brief is what the tool tells of the job in short.
func brief(status string, instances int, more ...string) string {
	description := ""
	if len(more) > 0 {
		description = more[0]
	}
	return fmt.Sprintf("%s %s, %d instances, 6 items, %s, '%s'", jobName, status, instances, never, description)
}

// short is what it tells of one on a single server: that much less.
func short(status string) string {
	return jobName + " " + status + ", 1 instances, 0 items, null, 'null'"
}

// statistics: what can be read of a job at rest, and of one that runs.
func (t *tools) statistics() {
	t.trigger("the first trigger", all, jobName, "-")
	t.says("the number of jobs", "1", "JobStatisticsAPI.getJobsTotalCount")
	t.says("all jobs", brief("OK", 3), "JobStatisticsAPI.getAllJobsBriefInfo")
	t.says("the job", brief("OK", 3), "JobStatisticsAPI.getJobBriefInfo", jobName)
	t.says("the jobs of a server", short("OK"), "JobStatisticsAPI.getJobsBriefInfo", t.name(1))
	t.says("the number of servers", "3", "ServerStatisticsAPI.getServersTotalCount")
	t.says("all servers", servers(1, 0, 1, 0, 1, 0), "ServerStatisticsAPI.getAllServersBriefInfo")
	t.says("the items", items("PENDING"), "ShardingStatisticsAPI.getShardingInfo", jobName)
	t.says("the settings", "mixed SIMPLE 'interop.Work' cron="+never+" total=6 params="+byHand.parameters()+" "+withStrategy(""), "JobSettingsAPI.getJobSettings", jobName)
}

// servers is what the tool tells of three of them: instances and jobs that are disabled.
func servers(n ...int) string {
	return fmt.Sprintf("A: %d instances, 1 jobs, %d disabled; B: %d instances, 1 jobs, %d disabled; C: %d instances, 1 jobs, %d disabled", n[0], n[1], n[2], n[3], n[4], n[5])
}

// items are those of the usual deal, all in one state but for some.
func items(state string, other ...string) string {
	var all []string
	for i, m := range []string{"C", "C", "B", "B", "A", "A"} {
		s := state
		if len(other) > i && other[i] != "" {
			s = other[i]
		}
		all = append(all, fmt.Sprintf("%d %s %s", i, m, s))
	}
	return strings.Join(all, "; ")
}

// triggers: who is named beside the job does not matter, and without a job
// nothing is asked for.
func (t *tools) triggers() {
	t.trigger("a trigger of one server", all, jobName, t.name(0))
	t.trigger("a trigger without a job", "nothing, by nobody", "-", t.name(0))
}

// disables: servers and items.
func (t *tools) disables() {
	t.ask("JobOperateAPI.disable", jobName, t.name(1))
	t.says("a server is disabled", servers(1, 0, 1, 1, 1, 0), "ServerStatisticsAPI.getAllServersBriefInfo")
	t.says("the jobs of a disabled server", short("DISABLED"), "JobStatisticsAPI.getJobsBriefInfo", t.name(1))
	t.trigger("a trigger beside a disabled server", sixBy+"A C", jobName, "-")
	t.ask("JobOperateAPI.enable", jobName, t.name(1))
	t.trigger("a trigger when it is enabled", all, jobName, "-")

	t.ask("JobOperateAPI.disable", jobName, "-")
	t.says("the job is disabled", brief("DISABLED", 3), "JobStatisticsAPI.getJobBriefInfo", jobName)
	t.trigger("a trigger of a disabled job", "nothing, by nobody", jobName, "-")
	t.ask("JobOperateAPI.enable", jobName, "-")
	t.trigger("a trigger when the job is enabled", all, jobName, "-")
	t.says("the job is enabled", brief("OK", 3), "JobStatisticsAPI.getJobBriefInfo", jobName)

	t.ask("JobOperateAPI.disable", "-", t.name(2))
	t.trigger("a trigger beside a server that is disabled for all jobs", sixBy+"A B", jobName, "-")
	t.ask("JobOperateAPI.enable", "-", t.name(2))
	t.trigger("a trigger when it is enabled for all jobs", all, jobName, "-")
	t.refused("JobOperateAPI.disable", "-", "-")
	t.refused("JobOperateAPI.enable", "-", "-")

	t.ask("ShardingOperateAPI.disable", jobName, "2")
	t.says("an item is disabled", items("PENDING", "", "", "DISABLED"), "ShardingStatisticsAPI.getShardingInfo", jobName)
	t.trigger("a trigger of the other items", "0 1 3 4 5, by A B C", jobName, "-")
	t.ask("ShardingOperateAPI.enable", jobName, "2")
	t.trigger("a trigger when the item is enabled", all, jobName, "-")
}

// changes: each setting, and those that are refused.
func (t *tools) changes() {
	t.set("total=9", "params="+definition{items: 9, work: 50 * time.Millisecond}.parameters())
	t.trigger("a trigger of nine items", "0 1 2 3 4 5 6 7 8, by A B C", jobName, "-")
	t.set("total=6", "params="+byHand.parameters())
	t.trigger("a trigger of six items", all, jobName, "-")

	const rotate = "com.dangdang.ddframe.job.lite.api.strategy.impl.RotateServerByNameJobShardingStrategy"
	t.set("parameter=p & q", "failover=true", "misfire=true", "strategy="+rotate, "description=told", "skew=600", "port=0", "reconcile=3", "streaming=true", "monitor=false")
	t.says("other settings", `mixed SIMPLE 'interop.Work' cron=`+never+` total=6 params=`+byHand.parameters()+` parameter='p & q' monitor=false streaming=false skew=600 port=0 failover=true misfire=true strategy='`+rotate+
		`' description='told' properties=`+handlers+` script='null' reconcile=3`, "JobSettingsAPI.getJobSettings", jobName)
	t.says("the job with a description", brief("OK", 3, "told"), "JobStatisticsAPI.getJobBriefInfo", jobName)
	t.trigger("a trigger with other settings", all, jobName, "-")
	t.set("parameter=", "failover=false", "misfire=false", "strategy=", "description=", "skew=-1", "port=-1", "reconcile=10", "monitor=true")
	t.says("the settings of before", "mixed SIMPLE 'interop.Work' cron="+never+" total=6 params="+byHand.parameters()+" "+withStrategy(""), "JobSettingsAPI.getJobSettings", jobName)
	t.trigger("a trigger with the settings of before", all, jobName, "-")
	for _, bad := range []string{"cron=", "total=0"} {
		t.refused("JobSettingsAPI.updateJobSettings", jobName, bad)
	}
	t.set("class=interop.Other")
	t.trigger("another class", all, jobName, "-")
	t.set("class=interop.Work")
	t.present(3)
	t.trigger("a trigger with the class of before", all, jobName, "-")
}

// crons: one that can be read, and one that cannot.
func (t *tools) crons() {
	t.set("cron=0/2 * * * * ?")
	t.see("a cron of two seconds", "it goes on", t.goesOn())
	t.set("cron=every now and then")
	t.pass(2 * every) // what began before has ended
	t.see("the cron cannot be read", "it goes on", t.goesOn())
	t.set("cron=0/1 * * * * ?")
	t.see("a cron that can be read again", "it goes on", t.goesOn())
	t.set("cron=" + never)
	t.pass(2 * every)
	t.trigger("a trigger with the cron of before", all, jobName, "-")
}

// goesOn tells whether a job fires: three times all of its items, before the
// patience is over.
func (t *tools) goesOn() func() string {
	since, until := time.Now(), time.Now().Add(4*every)
	return func() string {
		n := 0
		for _, r := range t.cluster.runs() {
			if r.Item == 0 && r.Start >= since.UnixMilli() && r.End != 0 {
				n++
			}
		}
		switch {
		case n >= 2:
			return "it goes on"
		case time.Now().After(until):
			return "it stops"
		}
		return "it may go on"
	}
}

// long makes runs so long that something can be done meanwhile, and begins them.
func (t *tools) long() (since time.Time) {
	t.Helper()
	params := definition{items: 6, work: 3 * time.Second}.parameters()
	t.set("params=" + params)
	t.pass(500 * time.Millisecond)
	since = time.Now()
	t.ask("JobOperateAPI.trigger", jobName, "-")
	t.await("all items to begin", func() bool {
		n := 0
		for _, r := range t.cluster.runs() {
			if r.Start >= since.UnixMilli() {
				n++
			}
		}
		return n == 6
	})
	return since
}

// ends tells how many of six runs have come to their end, when all could have.
func (t *tools) ends(since time.Time) func() string {
	return func() string {
		if time.Since(since) < 6*time.Second {
			return "they run"
		}
		n := 0
		for _, r := range t.cluster.runs() {
			if r.Start >= since.UnixMilli() && r.End != 0 {
				n++
			}
		}
		return fmt.Sprintf("%d of 6 end", n)
	}
}

// usually takes that back.
func (t *tools) usually() {
	t.Helper()
	t.set("params=" + byHand.parameters())
}

// shutdowns: of one server, of the job, and of one server for all jobs.
func (t *tools) shutdowns() {
	t.mayEnd()
	since := t.long()
	t.says("items that run", items("RUNNING"), "ShardingStatisticsAPI.getShardingInfo", jobName)
	t.ask("JobOperateAPI.shutdown", jobName, t.name(1))
	t.says("a server is shut down", servers(1, 0, 0, 0, 1, 0), "ServerStatisticsAPI.getAllServersBriefInfo")
	t.see("what ran when one server was shut down", "6 of 6 end", t.ends(since))
	t.usually()
	t.trigger("a trigger beside a server that is shut down", sixBy+"A C", jobName, "-")
	t.restart(1)
	t.trigger("a trigger when it has started again", all, jobName, "-")

	t.mayEnd()
	t.ask("JobOperateAPI.shutdown", "-", t.name(2))
	t.says("a server is shut down for all jobs", servers(1, 0, 1, 0, 0, 0), "ServerStatisticsAPI.getAllServersBriefInfo")
	t.trigger("a trigger beside a server that is shut down for all jobs", sixBy+"A B", jobName, "-")
	t.restart(2)
	t.trigger("a trigger when it has started again for all jobs", all, jobName, "-")

	t.mayEnd()
	since = t.long()
	t.ask("JobOperateAPI.shutdown", jobName, "-")
	t.says("the job is shut down", brief("CRASHED", 0), "JobStatisticsAPI.getJobBriefInfo", jobName)
	t.see("what ran when the job was shut down", "6 of 6 end", t.ends(since))
	t.usually()
	t.refused("JobOperateAPI.shutdown", "-", "-")
	t.restart(0, 1, 2)
	t.trigger("a trigger when all have started again", all, jobName, "-")
}

// removals: of servers that end, and of the job.
func (t *tools) removals() {
	t.mayEnd()
	t.ask("JobOperateAPI.remove", jobName, t.name(1))
	t.says("a server is removed", "2", "ServerStatisticsAPI.getServersTotalCount")
	t.trigger("a trigger beside a server that was removed", sixBy+"A C", jobName, "-")
	t.restart(1)
	t.mayEnd()
	t.ask("JobOperateAPI.remove", "-", t.name(2))
	t.says("a server is removed for all jobs", "2", "ServerStatisticsAPI.getServersTotalCount")
	t.restart(2)
	t.says("removed servers that have started again", "3", "ServerStatisticsAPI.getServersTotalCount")
	t.trigger("a trigger when removed servers have started again", all, jobName, "-")
	t.mayEnd()
	t.ask("JobOperateAPI.remove", jobName, "-")
	t.says("all servers are removed", "0", "ServerStatisticsAPI.getServersTotalCount")
	t.refused("JobOperateAPI.remove", "-", "-")
	t.restart(0, 1, 2)
	t.trigger("a trigger when all removed servers have started again", all, jobName, "-")

	t.mayEnd()
	t.long()
	t.ask("JobSettingsAPI.removeJobSettings", jobName)
	t.pass(2 * time.Second)                                           // for what should not come
	t.see("the job was removed", "nobody defines it", func() string { // of ElasticJob's own members some may make nodes of the lead anew
		if t.node("config").Exists || len(t.node("instances").Children) > 0 {
			return "somebody defines it"
		}
		return "nobody defines it"
	})
}
