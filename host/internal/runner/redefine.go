package runner

// takeFile makes the newest file the one in use, and forgets an ask of define that no member
// will see answered. A file that has changed must be merged into the registry.
func (r *Runner) takeFile() {
	o := &r.defining
	o.fresh, o.asked, o.again, o.tries = false, false, false, 0
	if file := r.requests.newestFile(); file != r.file {
		r.file, o.done, o.givenUp = file, false, false
	}
}

// redefine merges a file that was read again into the registry, as at the start of the
// server. Settings that only the file has take effect at once.
func (m *member) redefine() {
	if m.defining.asked {
		m.defining.again = true // after the merge that is under way
		return
	}
	m.takeFile()
	if m.defining.fresh = true; m.loop.View() == nil {
		return // the first view is compared with the file
	}
	if len(m.defining.disputed) == 0 { // otherwise define clears the trouble, or reports it again
		m.troubles.clear(troubleDefinition)
	}
	// Settings of the old file are forgotten. configure and decideAdmission compute them again.
	m.effective, m.admitted.definition.Config = &effective{job: m.effective.job}, nil
	m.configure()
	m.decideAdmission()
	m.sendSettings()
	m.define()
}
