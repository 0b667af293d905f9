package mirror

// Once asks for one reading of a node that is not mirrored. Nothing has settled
// before its answer, which is among the changes if the node exists.
func (m *Mirror) Once(name string) {
	if m.entry(name) != nil {
		return
	}
	m.more[name] = &entry{phase: dirty, is: passing}
	m.open++
	m.queue = append(m.queue, name)
}
