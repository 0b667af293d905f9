package definition

import "slices"

// maxPast is how many modules that ran before are remembered.
const maxPast = 8

// Replace names the module that is to take the place of the one that runs. If
// that is the same, nothing is to come any more.
func (m *Module) Replace(by Code) {
	if m.Next = &by; m.Code != nil && m.Code.Digest == by.Digest {
		m.Next = nil
	}
}

// pass lets the next module be the one that runs. Going back to one that ran
// before forgets what came after that: the way back leads on to older ones, and
// not to the one that was left.
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

// Switched is the text of a module's node whose next module runs.
func Switched(text []byte) []byte {
	m, err := DecodeModule(text)
	if err != nil {
		return text // the view had a fault, so no member switched
	}
	m.pass()
	data, err := EncodeModule(m)
	if err != nil { // what ran before made it too large
		m.Past = nil
		data, err = EncodeModule(m)
	}
	if err != nil {
		return text
	}
	return data
}
