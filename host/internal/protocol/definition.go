package protocol

// Definition is a job's definition as the registry keeps it: the configuration, which
// foreign members read as well, and the module's node with the settings for which the
// configuration has no key. A part that is nil does not exist.
type Definition struct{ Config, Module Spelled }

// Spelled is a part of a definition as its layout spells it. The core passes it on and
// compares it; only the layout reads it.
type Spelled interface {
	Same(as Spelled) bool
	String() string // for people and tests
}

// Same reports whether both would have the same values in the registry.
func (d Definition) Same(as Definition) bool {
	return same(d.Config, as.Config) && same(d.Module, as.Module)
}

func same(a, b Spelled) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Same(b)
}
