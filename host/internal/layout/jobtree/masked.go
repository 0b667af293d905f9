package jobtree

import (
	"fmt"
	"regexp"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
)

// Masked returns the value at a path without secrets: without the state of guests, what a
// migration has kept, and values of a definition that may be secrets or show a machine's
// files, such as the digests of a base.
func (j Job) Masked(path string, data []byte) string {
	switch {
	case j.Private(path), path == j.at(NodeMigration):
		return fmt.Sprintf("(%d bytes)", len(data))
	case path == j.at(nodeOfKey(KeyCommand)):
		return fmt.Sprintf("(%d bytes)", len(data))
	case path == j.at(NodeConfig):
		return j.dialect.Mask(data)
	case path == j.at(NodeModule):
		text, err := jsonvalue.Mask(data, spelling.Private)
		if err != nil {
			return fmt.Sprintf("(%d bytes that cannot be read)", len(data))
		}
		return string(text)
	}
	return filePath.ReplaceAllString(string(data), "${1}***") // the text of an error
}

// filePath finds an absolute path in a text, except in a URL.
var filePath = regexp.MustCompile(`(^|[\s"'(=:,])/[\pL._~-][^\s\\"'():,]*`)
