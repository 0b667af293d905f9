package protocol

// Definition is a job's definition as the registry keeps it: the configuration that
// foreign members read as well, and the module with the settings for which that has no
// key. A part that is nil does not exist.
type Definition struct{ Config, Module Spelled }

// Spelled is a part of a definition as its layout spells it. The core passes it on and
// compares two of them; only the layout reads it.
type Spelled interface {
	Same(as Spelled) bool
	String() string // for people and tests
}

// Same reports whether the registry would hold the same value for both.
func (d Definition) Same(as Definition) bool {
	return same(d.Config, as.Config) && same(d.Module, as.Module)
}

func same(a, b Spelled) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Same(b)
}
