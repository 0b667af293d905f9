package main

import (
	"fmt"

	"github.com/wasmjob/wasmjob/host/operator"
)

type modulesShown struct {
	Version int    `json:"version"`
	Job     string `json:"job"`
	shownModules
	Refused []refusedModule `json:"refused_here"`
}

// refusedModule is a module that the server of this configuration refuses to compile.
type refusedModule struct {
	Digest string `json:"digest"`
	Reason string `json:"reason"`
}

// shownModules are also part of the JSON of job show.
type shownModules struct {
	Module *shownModule  `json:"module,omitempty"`
	Next   *shownModule  `json:"next_module,omitempty"`
	Past   []shownModule `json:"past_modules"` // newest last
	Waits  []shownWait   `json:"next_module_waits_for"`
	Pinned bool          `json:"module_pinned"`
}

type shownModule struct {
	Name      string `json:"name"`
	Digest    string `json:"digest"`
	Reference string `json:"reference,omitempty"`
}

type shownWait struct {
	Instance string `json:"instance"`
	Fault    string `json:"fault,omitempty"` // why it cannot prepare the module; empty if it has not reported yet
}

// modulesOf returns the JSON about the modules of a job.
func modulesOf(r *operator.ModulesReport) shownModules {
	m := shownModules{Module: (*shownModule)(r.Now), Next: (*shownModule)(r.Next), Past: []shownModule{}, Waits: []shownWait{}, Pinned: r.Pinned}
	for _, p := range r.Past {
		m.Past = append(m.Past, shownModule(p))
	}
	for _, w := range r.Waits {
		m.Waits = append(m.Waits, shownWait{Instance: string(w.ID), Fault: w.Fault})
	}
	return m
}

func printModules(term *terminal, r *operator.JobReport, refused []refusedModule) error {
	w := table(term, "STATE\tDIGEST\tNAME\tFROM")
	row := func(state string, m *operator.ModuleRef) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", state, m.Digest, orDash(plain(m.Name)), orDash(plain(m.Reference)))
	}
	if r.Modules.Next != nil {
		row("next", r.Modules.Next)
	}
	if r.Modules.Now != nil {
		state := "runs"
		if r.Modules.Pinned {
			state = "pinned"
		}
		row(state, r.Modules.Now)
	}
	for i := len(r.Modules.Past) - 1; i >= 0; i-- { // newest first
		row("before", &r.Modules.Past[i])
	}
	if err := flush(w); err != nil {
		return err
	}
	for _, wait := range r.Modules.Waits {
		why := "not ready yet"
		if wait.Fault != "" {
			why = "cannot prepare it: " + plainUpTo(sentenceLimit, wait.Fault)
		}
		term.printf("waits for %s, %s\n", plain(string(wait.ID)), why)
	}
	for _, m := range refused {
		term.printf("this server refuses %s: %s\n", m.Digest, plainUpTo(sentenceLimit, m.Reason))
	}
	return nil
}
