package tree

import "unicode/utf8"

// maxPath bounds the length of a path. ZooKeeper has no such bound; without
// one, a few bytes of an encoded tree could ask for any amount of memory.
const maxPath = 8 << 10

// validPath reports whether path is absolute, clean and free of the characters
// that ZooKeeper refuses, so that a tree can move between the two.
func validPath(path string) bool {
	if path == "" || path[0] != '/' || len(path) > maxPath {
		return false
	}
	if path == "/" {
		return true
	}
	start := 1
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			if c := path[i]; c >= utf8.RuneSelf || c < 0x20 || c == 0x7f {
				return validRunes(path)
			}
			continue
		}
		if !validName(path[start:i]) {
			return false
		}
		start = i + 1
	}
	return true
}

func validName(name string) bool {
	return name != "" && name != "." && name != ".."
}

// validRunes is validPath for paths that are not plain ASCII.
func validRunes(path string) bool {
	start := 1
	for i, r := range path {
		switch {
		case r == '/' && i > 0:
			if !validName(path[start:i]) {
				return false
			}
			start = i + 1
		case r == utf8.RuneError, r < 0x20, r >= 0x7f && r <= 0x9f,
			r >= 0xe000 && r <= 0xf8ff, r >= 0xfff0 && r <= 0xffff:
			return false
		}
	}
	return validName(path[start:])
}
