package mirror

// Once requests a single read of a node that is not mirrored. The mirror does not
// settle before the answer, which is among the changes if the node exists.
func (m *Mirror) Once(name string) {
	if m.entry(name) != nil {
		return
	}
	m.followed[name] = &entry{phase: dirty, traits: passing}
	m.unsettled++
	m.queue = append(m.queue, name)
}
