package overlay

// fileMutants leave out pieces of how the servers' files are merged into the registry.
func fileMutants() []mutant {
	return []mutant{
		{"file: read while one is written", "a file that is read while the one before is written goes there, too", without("runner.member.redefine", "m.defining.again = true"), notice{"../runner", "^TestRedefineTwice$"}},
		{"file: half of it", "what belongs together is written at once", in("jobtree.transaction.define", "module.Kind, module.Data = registry.Set, spelling.Bytes(m.Module)", "if m.Config == nil {\nmodule.Kind, module.Data = registry.Set, spelling.Bytes(m.Module)\n}"), notice{"../runner", "^TestRedefine$"}},
		{"file: said before", "a file that has not changed leaves what another one has said since", in("definition.merger.leaf", "m.old(path, said)", "false"), notice{"../definition", "^TestMergeOfTwoFiles$"}},
		{"file: given up in silence", "a file that the registry did not take is a trouble", in("runner.member.defineAnswered", `o.done && fault != ""`, "false"), notice{"../runner", "^TestAFileThatIsNotTakenIsATrouble$"}},
	}
}
