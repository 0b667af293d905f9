package sim

import (
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// admissionScenarios have servers that may not be in the job for a while.
func admissionScenarios() []scenario {
	return []scenario{{"a class changes, and a member of ElasticJob comes and goes", func(w *World) {
		const class = "com.example.Job"
		w.plain(2, 3)
		w.config.JobClass = class
		for i, m := range []*member{w.ours(1, 0), w.ours(2, 5)} {
			m.admitted.file = &job.Config{Name: jobName, Kind: job.Simple, Class: class, TimeZone: "UTC", Shards: 1 + i}
		}
	}, barredForAWhile}}
}

// barredForAWhile: members stay whatever the class is, as long as no foreign member runs
// the other class. A member that had to leave comes back only when its class does.
func barredForAWhile(w *World) driver {
	reached := false
	write := func(class string) {
		w.config.JobClass = class
		w.tool(protocol.PutConfig{Config: spelling.Text(w.encoded())})
	}
	expect := func(why string, joined bool) {
		for _, m := range w.members {
			if m.st == nil || (registered(w.ledger.v, m.st.Self()) != nil) != joined {
				w.breach("admission", "%s: %s is a member: %v", why, m.name(), !joined)
			}
		}
	}
	at := func(seconds int64, do func()) { w.at((1_700_000_000+seconds)*second, do) }
	at(15, func() { // as a file does when it is merged into the registry
		module, err := definition.EncodeModule(w.job.Define(*w.members[0].admitted.file).Module)
		if err != nil {
			panic(err)
		}
		w.tool(protocol.Define{Definition: protocol.Definition{Module: spelling.Text(module)}})
	})
	at(20, func() { write("com.example.Other") })
	at(28, func() { expect("the class has changed", true) })
	at(30, func() { w.foreign(true) })
	at(38, func() { expect("a member of ElasticJob is there", false) })
	at(40, func() { w.foreign(false) })
	at(48, func() { expect("it has gone", false) })
	at(50, func() { write("com.example.Job") })
	at(58, func() {
		expect("the class is as before", true)
		reached = true
	})
	return driver{reached: &reached}
}
