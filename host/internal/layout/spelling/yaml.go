package spelling

import "bytes"

// YAML reports whether a text looks like the YAML of layout 3, not like the JSON of 2.1:
// its first line begins with a key and a colon.
func YAML(text []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	key, _, ok := bytes.Cut(line, []byte(":"))
	return ok && len(key) > 0 && !bytes.ContainsAny(key, "{[\"' \t")
}
