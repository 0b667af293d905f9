package definition

// Agrees reports whether the registry agrees with a file.
func Agrees(file Definition, config Config, module *Module) bool {
	mine, there := sides(file, config, module)
	return mine.agrees(&there)
}

// SetBase is what the file said when it was applied last.
func (m *Module) SetBase(base map[string]any) { m.base = base }

// Set takes the settings of another module.
func (m *Module) Set(from *Module) { m.settings = from.settings }

// Recalled reports whether the file's earlier values are known.
func (d *Definition) Recalled() bool { return d.said != nil }

// MaxPast is how many modules that ran before are remembered.
const MaxPast = maxPast
