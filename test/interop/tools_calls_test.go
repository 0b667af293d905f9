package interop

import (
	"fmt"
	"strings"
	"time"
)

// statistics reads what is shown of an idle and of a running job.
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

// servers returns the tool's output about three servers: instances and disabled jobs.
func servers(n ...int) string {
	return fmt.Sprintf("A: %d instances, 1 jobs, %d disabled; B: %d instances, 1 jobs, %d disabled; C: %d instances, 1 jobs, %d disabled", n[0], n[1], n[2], n[3], n[4], n[5])
}

// items returns the items of the usual assignment, all in one state except some.
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

// triggers: a trigger that names the job reaches all servers, whichever server it
// names. A trigger without a job does nothing.
func (t *tools) triggers() {
	t.trigger("a trigger of one server", all, jobName, t.name(0))
	t.trigger("a trigger without a job", "nothing, by no server", "-", t.name(0))
}

// disables disables and enables servers and items.
func (t *tools) disables() {
	t.ask("JobOperateAPI.disable", jobName, t.name(1))
	t.says("a server is disabled", servers(1, 0, 1, 1, 1, 0), "ServerStatisticsAPI.getAllServersBriefInfo")
	t.says("the jobs of a disabled server", short("DISABLED"), "JobStatisticsAPI.getJobsBriefInfo", t.name(1))
	t.trigger("a trigger beside a disabled server", sixBy+"A C", jobName, "-")
	t.ask("JobOperateAPI.enable", jobName, t.name(1))
	t.trigger("a trigger when it is enabled", all, jobName, "-")

	t.ask("JobOperateAPI.disable", jobName, "-")
	t.says("the job is disabled", brief("DISABLED", 3), "JobStatisticsAPI.getJobBriefInfo", jobName)
	t.trigger("a trigger of a disabled job", "nothing, by no server", jobName, "-")
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

// changes changes each setting, and tries changes that are refused.
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

// crons sets a valid and an invalid cron.
func (t *tools) crons() {
	t.set("cron=0/2 * * * * ?")
	t.see("a cron of two seconds", "it goes on", t.goesOn())
	t.set("cron=every now and then")
	t.pass(2 * every) // earlier runs have ended
	t.see("the cron cannot be read", "it goes on", t.goesOn())
	if !t.java { // a member of ElasticJob does not start with it
		t.restart(0, 1, 2)
		t.see("the cron cannot be read after a restart", "it goes on", t.goesOn())
	}
	t.set("cron=0/1 * * * * ?")
	t.see("a cron that can be read again", "it goes on", t.goesOn())
	t.set("cron=" + never)
	t.pass(2 * every)
	t.trigger("a trigger with the cron of before", all, jobName, "-")
}

// goesOn reports whether a job continues: all its items run three times within four
// periods.
func (t *tools) goesOn() func() string {
	since, until := time.Now(), time.Now().Add(4*every)
	return func() string {
		n := 0
		for _, r := range t.runs() {
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

// long makes runs so long that there is time for operations, and begins them.
func (t *tools) long() (since time.Time) {
	t.Helper()
	params := definition{items: 6, work: 3 * time.Second}.parameters()
	t.set("params=" + params)
	t.pass(500 * time.Millisecond)
	since = time.Now()
	t.ask("JobOperateAPI.trigger", jobName, "-")
	t.await("all items to begin", func() bool {
		n := 0
		for _, r := range t.runs() {
			if r.Start >= since.UnixMilli() {
				n++
			}
		}
		return n == 6
	})
	return since
}

// ends reports how many of six runs have ended, after the time that all need.
func (t *tools) ends(since time.Time) func() string {
	return func() string {
		if time.Since(since) < 6*time.Second {
			return "they run"
		}
		n := 0
		for _, r := range t.runs() {
			if r.Start >= since.UnixMilli() && r.End != 0 {
				n++
			}
		}
		return fmt.Sprintf("%d of 6 end", n)
	}
}

// usually undoes long.
func (t *tools) usually() {
	t.Helper()
	t.set("params=" + byHand.parameters())
}

// shutdowns shuts down the job on one server, the whole job, and one server for all jobs.
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

// removals removes servers that have ended, and the job.
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
	t.pass(2 * time.Second)                                           // to see that nothing else comes
	t.see("the job was removed", "nobody defines it", func() string { // some of ElasticJob's own members may create nodes of the lead again
		if t.node("config").Exists || len(t.node("instances").Children) > 0 {
			return "somebody defines it"
		}
		return "nobody defines it"
	})
}
