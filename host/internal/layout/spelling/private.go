package spelling

// Private reports whether the value at a key of the module's node must be masked, because
// it may be a secret or name a server's files. keys are those above the value and its own,
// outermost first. The object "base" repeats the keys of the outermost one.
func Private(keys []string) bool {
	if len(keys) > 0 && keys[0] == "base" {
		keys = keys[1:]
	}
	if len(keys) == 0 {
		return false
	}
	switch keys[0] {
	case "config", "args":
		return true
	case "allow":
		return len(keys) > 1 && (keys[1] == "env" || keys[1] == "dirs" && (len(keys) == 2 || keys[2] == "host"))
	}
	return keys[len(keys)-1] == "reference"
}
