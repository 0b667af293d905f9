package spelling

import "bytes"

// YAML reports whether a text is of layout 3: it begins with a key, not with a brace.
func YAML(text []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	key, _, ok := bytes.Cut(line, []byte(":"))
	return ok && len(key) > 0 && !bytes.ContainsAny(key, "{[\"' \t")
}
