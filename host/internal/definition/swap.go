package definition

import "slices"

// maxPast is how many earlier modules are kept.
const maxPast = 8

// Replace sets the module that will replace the running one. If they are the same, no
// module is pending.
func (m *Module) Replace(by Code) {
	if m.Next = &by; m.Code != nil && m.Code.Digest == by.Digest {
		m.Next = nil
	}
}

// pass makes the next module the running one. Going back to an earlier module removes it
// and the newer ones from Past: another step back leads to an older one.
func (m *Module) pass() {
	if m.Next == nil {
		return
	}
	at := slices.IndexFunc(m.Past, func(c Code) bool { return c.Digest == m.Next.Digest })
	switch {
	case at >= 0:
		m.Past = m.Past[:at]
	case m.Code != nil:
		m.Past = append(slices.Clip(m.Past), *m.Code)
		m.Past = m.Past[max(0, len(m.Past)-maxPast):]
	}
	m.Code, m.Next = m.Next, nil
}

// Switched returns the text of a module's node after the switch to its next module; the same
// text if that is not possible.
func Switched(text []byte) []byte {
	m, err := DecodeModule(text)
	if err != nil {
		return text // the view had a fault, so no member switched
	}
	m.pass()
	data, err := EncodeModule(m)
	if err != nil { // the list of earlier modules made it too large
		m.Past = nil
		data, err = EncodeModule(m)
	}
	if err != nil {
		return text
	}
	return data
}
