package sim

import "strings"

// layout3Mutant is the prefix of mutants that only show beside members of ElasticJob 3.0.4.
const layout3Mutant = "layout 3: "

func (m mutant) inLayout3() bool { return strings.HasPrefix(m.name, layout3Mutant) }

// layout3Mutants leave out what marks need that outlive their sessions.
func layout3Mutants() []mutant {
	return []mutant{
		{layout3Mutant + "marks of nobody stay", "what a member that is gone has left, and nobody wants run again, is deleted", []change{in("protocol.facts.isStray", "s.now >= until", "false")}},
		{layout3Mutant + "taken meanwhile", "who makes a run pending deletes what its member has left only if nobody has taken the item since", []change{noFence("pend/taken")}},
		{layout3Mutant + "taker unknown", "what a taker has written beside its mark tells what it ran when it dies", []change{in("jobtree.Decoder.resolveItem", `says.taker == "" && says.failovering.id != ""`, "false")}},
	}
}
