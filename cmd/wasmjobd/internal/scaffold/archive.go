package scaffold

import (
	"fmt"
	"strings"
)

// file is a file of a project or of an archive; names have slashes.
type file struct{ name, text string }

// unpack reads an archive: text files one after the other, each below a line "-- name --". Text
// before the first file is a comment.
func unpack(archive string) ([]file, error) {
	var files []file
	for line := range strings.Lines(archive) {
		if name, ok := marker(line); ok {
			files = append(files, file{name: name})
			continue
		}
		if len(files) > 0 {
			files[len(files)-1].text += line
		}
	}
	seen := map[string]bool{}
	for _, f := range files {
		if seen[f.name] {
			return nil, fmt.Errorf("%s occurs twice", f.name)
		}
		seen[f.name] = true
	}
	return files, nil
}

// marker returns the name in a line that begins a file.
func marker(line string) (name string, ok bool) {
	name, ok = strings.CutPrefix(strings.TrimSuffix(line, "\n"), "-- ")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, " --")
}
