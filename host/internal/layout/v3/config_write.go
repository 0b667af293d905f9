package v3

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout/snakeyaml"
)

// entryWriter collects the entries of a configuration.
type entryWriter struct {
	all []entry
	err error // the first error
}

// text adds a key with a text. ElasticJob leaves some texts out when they are empty; it
// writes others always.
func (w *entryWriter) text(key, value string, always bool) {
	var lines []byte
	if value != "" || always {
		lines = w.line(nil, 0, key, value)
	}
	w.all = append(w.all, entry{key, lines})
}

func (w *entryWriter) line(b []byte, depth int, key, value string) []byte {
	return w.kept(snakeyaml.AppendText(b, depth, key, value))
}

// kept returns the lines, and keeps the first error in w.
func (w *entryWriter) kept(lines []byte, err error) []byte {
	w.err = cmp.Or(w.err, err)
	return lines
}

func (w *entryWriter) word(key string, value any) {
	w.all = append(w.all, entry{key, snakeyaml.AppendWord(nil, key, value)})
}

// list adds a key with a list of texts, of which values has one a line. An empty list is
// left out.
func (w *entryWriter) list(key, values string) {
	var lines []byte
	if values != "" {
		lines = append(append(lines, key...), ":\n"...)
		for value := range strings.SplitSeq(values, "\n") {
			lines = w.kept(snakeyaml.AppendItem(lines, value))
		}
	}
	w.all = append(w.all, entry{key, lines})
}

// props adds a key with a mapping. An empty one is left out.
func (w *entryWriter) props(key string, props map[string]string) {
	var lines []byte
	if len(props) > 0 {
		lines = fmt.Appendf(lines, "%s:\n", key)
		for _, name := range javaOrder(props) {
			lines = w.line(lines, 1, name, props[name])
		}
	}
	w.all = append(w.all, entry{key, lines})
}
