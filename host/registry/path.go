package registry

import "unicode/utf8"

// ValidPath reports whether path is absolute, clean and free of the characters that
// ZooKeeper refuses. All services refuse other paths, so nodes can move between them.
func ValidPath(path string) bool {
	if path == "/" {
		return true
	}
	slash := 0 // position of the slash before the name
	for i, r := range path {
		switch {
		case i == 0 && r != '/':
			return false
		case i > 0 && r == '/':
			if !validName(path[slash+1 : i]) {
				return false
			}
			slash = i
		case r == utf8.RuneError, r < 0x20, r >= 0x7f && r <= 0x9f, r >= 0xe000 && r <= 0xf8ff, r >= 0xfff0 && r <= 0xffff:
			return false
		}
	}
	return path != "" && validName(path[slash+1:])
}

func validName(name string) bool { return name != "" && name != "." && name != ".." }

// Within reports whether path is root or lies below it. Both must be valid.
func Within(path, root string) bool {
	return root == "/" || path == root || len(path) > len(root) && path[len(root)] == '/' && path[:len(root)] == root
}
