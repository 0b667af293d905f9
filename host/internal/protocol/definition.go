package protocol

// Definition is a job's definition as the registry keeps it: the configuration that
// members of ElasticJob read, and the module with what that has no key for. A part
// that is nil is not there.
type Definition struct{ Config, Module Spelled }

// Spelled is a part of a definition as its layout spells it. The core hands it on
// and tells whether two are the same; only the layout knows what it says.
type Spelled interface {
	Same(as Spelled) bool
	String() string // for people and tests
}

// Same tells whether the registry would hold the same of both.
func (d Definition) Same(as Definition) bool {
	return same(d.Config, as.Config) && same(d.Module, as.Module)
}

func same(a, b Spelled) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Same(b)
}
