package runner

// takeFile has the loop go by the newest file, which is to be brought into the
// registry if it is another one.
func (r *Runner) takeFile() {
	o := &r.defining
	o.fresh, o.asked, o.again, o.tries = false, false, false, 0
	if file := r.requests.newestFile(); file != r.file {
		r.file, o.done = file, false
	}
}

// redefine brings a file that was read again into the registry, as at the start of
// the server. What the file alone can say is in force at once.
func (m *member) redefine() {
	if m.defining.asked {
		m.defining.again = true // one after the other
		return
	}
	m.takeFile()
	if m.defining.fresh = true; m.loop.View() == nil {
		return // the first one is held against it
	}
	if len(m.defining.disputed) == 0 {
		m.troubles.clear(troubleDefinition)
	}
	m.effective, m.admitted.definition.Config = &effective{job: m.effective.job}, nil
	m.configure()
	m.decideAdmission()
	m.sendSettings()
	m.define()
}
