package definition

// Agrees reports whether the registry agrees with a file.
func Agrees(file Definition, config Config, module *Module) bool {
	mine, there := sides(file, config, module)
	return mine.agrees(&there)
}

// SetBase sets what the file said when it was last applied.
func (m *Module) SetBase(base map[string]any) { m.base = base }

// Set copies the settings of another module.
func (m *Module) Set(from *Module) { m.settings = from.settings }

// Recalled reports whether the file's earlier values are known.
func (d *Definition) Recalled() bool { return d.said != nil }

// MaxPast is how many earlier modules are kept.
const MaxPast = maxPast
