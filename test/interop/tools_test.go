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
	java bool // all members are of ElasticJob: the control
}

// withStrategy is the end of what the tool prints about the usual settings.
func withStrategy(class string) string {
	return `parameter='' monitor=true streaming=false skew=-1 port=-1 failover=false misfire=false strategy='` + class + `' description='' properties=` +
		handlers + ` script='null' reconcile=10`
}

// handlers are the job's classes for errors and threads, as a map of Java prints them.
const handlers = "{executor_service_handler=com.dangdang.ddframe.job.executor.handler.impl.DefaultExecutorServiceHandler, job_exception_handler=com.dangdang.ddframe.job.executor.handler.impl.DefaultJobExceptionHandler}"

// useTools calls each method on three members. What the control answers and what
// servers of ours do is one table.
func useTools(c *cluster, java bool) {
	t := &tools{cluster: c, java: java}
	ips := []string{oursA, oursB, oursC}
	if java {
		ips = []string{javaA, javaB, javaC}
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

// refused calls a method with arguments that it must refuse.
func (t *tools) refused(method string, args ...string) {
	t.Helper()
	_, err := t.operator.call(t.cluster.name, jobName, append([]string{method}, args...)...)
	t.check(method+" refuses", err != nil && strings.Contains(err.Error(), "IllegalArgumentException"), "%v: %v", args, err)
}

// soon is how long something may take that both kinds do when they hear of it.
const soon = time.Minute

// see waits until it is as wanted.
func (t *tools) see(what, want string, look func() string) {
	t.Helper()
	var got string
	late := time.Now().Add(soon)
	t.await(what, func() bool {
		got = look()
		return got == want || time.Now().After(late)
	})
	t.check(what, got == want, "\n%s\ninstead of\n%s", got, want)
}

// says checks what a method prints.
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

// mayEnd: a Java process may end by itself, as the library's does when its job is
// removed.
func (t *tools) mayEnd() {
	for _, m := range t.members {
		m.running.asked = true
	}
}

// ran reports which items have run to their end since a time, and where.
func (t *tools) ran(since time.Time) string {
	t.Helper()
	n, by := map[int]int{}, []string{}
	for _, r := range t.runs() {
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
		return "nothing, by no server"
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
	t.await("a reshard of the items of instances that are gone", t.settled)
	since := time.Now()
	t.ask("JobOperateAPI.trigger", args...)
	if strings.HasPrefix(want, "nothing") {
		t.pass(time.Second) // for what should not come
	}
	t.see(what, want, func() string { return t.ran(since) })
}

// settled tells whether no item belongs to an instance that is gone, or a reshard
// is asked for. On a busy machine ElasticJob's members may hear of a removed
// server later than of the trigger after it, and run what each had before.
func (t *tools) settled() bool {
	if t.node("leader/sharding/necessary").Exists {
		return true
	}
	there := t.node("instances").Children
	for _, item := range t.node("sharding").Children {
		if owner := t.node("sharding/" + item + "/instance"); owner.Exists && !slices.Contains(there, string(owner.Data)) {
			return false
		}
	}
	return true
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

// brief is the tool's summary of the job.
func brief(status string, instances int, more ...string) string {
	description := ""
	if len(more) > 0 {
		description = more[0]
	}
	return fmt.Sprintf("%s %s, %d instances, 6 items, %s, '%s'", jobName, status, instances, never, description)
}

// short is the tool's summary of a job on a single server, which has less.
func short(status string) string {
	return jobName + " " + status + ", 1 instances, 0 items, null, 'null'"
}
