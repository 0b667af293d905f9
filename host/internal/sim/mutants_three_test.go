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
		{layout3Mutant + "rounds: never", "members of ours have a part in the rounds for which members of ElasticJob wait", []change{noRule("join-round")}},
		{layout3Mutant + "rounds: ended at once", "a round ends only when members of ElasticJob have had time to see their nodes", []change{in("protocol.endRound", "s.now < until", "false")}},
		{layout3Mutant + "rounds: made again", "a node of a round is not created again while the round is deleted", []change{
			in("protocol.joinRound", "s.now < until", "false"),
			without("protocol.roundPart.joined", "w.items = slices.DeleteFunc(_, _)"),
		}},
	}
}
