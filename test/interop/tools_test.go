package interop

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tools is a job whose operators use ElasticJob's own operations, the ones of its
// console: each method of its lifecycle API.
type tools struct {
	*cluster
	java bool // the control: all members are ElasticJob's
}

// withStrategy returns the end of the tool's output about the usual settings.
func withStrategy(class string) string {
	return `parameter='' monitor=true streaming=false skew=-1 port=-1 failover=false misfire=false strategy='` + class + `' description='' properties=` +
		handlers + ` script='null' reconcile=10`
}

// handlers are the job's classes for errors and threads, in the format of a Java map.
const handlers = "{executor_service_handler=com.dangdang.ddframe.job.executor.handler.impl.DefaultExecutorServiceHandler, job_exception_handler=com.dangdang.ddframe.job.executor.handler.impl.DefaultJobExceptionHandler}"

// useTools calls each method on three members. The control's answers and our servers'
// behaviour are in one table.
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

// name returns the address of a member of this job, by its number.
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

// soon is how long both kinds may take to react.
const soon = time.Minute

// see waits until look returns want.
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

// says checks the output of a method.
func (t *tools) says(what, want, method string, args ...string) {
	t.Helper()
	t.see(what, want, func() string { return t.ask(method, args...) })
}

// present waits until the given number of members are there, one of them leads, and the
// resulting work is done.
func (t *tools) present(members int) {
	t.Helper()
	t.await("members", func() bool {
		return len(t.node("instances").Children) == members && (t.leader() != nil || members == 0)
	})
	t.pass(500 * time.Millisecond)
}

// restart starts members again, whether or not their last process has ended.
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

// mayEnd allows a Java process to end by itself, as the library's does when its job is
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
			items = append(items, strconv.Itoa(item)+strings.Repeat("!", n[item]-1)) // a mark for each surplus run
		}
	}
	return strings.Join(items, " ") + ", by " + strings.Join(by, " ")
}

// trigger triggers the job, and checks what has run.
func (t *tools) trigger(what, want string, args ...string) {
	t.Helper()
	t.pass(500 * time.Millisecond) // earlier changes have reached all members
	t.await("a reshard of the items of instances that are gone", t.settled)
	since := time.Now()
	t.ask("JobOperateAPI.trigger", args...)
	if strings.HasPrefix(want, "nothing") {
		t.pass(time.Second) // to see that nothing else comes
	}
	t.see(what, want, func() string { return t.ran(since) })
}

// settled reports whether no item belongs to an instance that is gone and no reshard is
// requested. On a busy machine ElasticJob's members may learn of a removed server only
// after a later trigger, and run their old items.
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

// brief returns the tool's summary of the job.
func brief(status string, instances int, more ...string) string {
	description := ""
	if len(more) > 0 {
		description = more[0]
	}
	return fmt.Sprintf("%s %s, %d instances, 6 items, %s, '%s'", jobName, status, instances, never, description)
}

// short returns the tool's summary of a job on a single server, which has fewer fields.
func short(status string) string {
	return jobName + " " + status + ", 1 instances, 0 items, null, 'null'"
}
