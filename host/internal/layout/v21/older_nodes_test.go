package v21

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout/servertree"
)

// olderNodes is the part of the page on layouts 2.0 and 1.
func olderNodes(b *bytes.Buffer) {
	values := map[servertree.Value]string{
		servertree.Empty: "empty", servertree.Text: "text", servertree.State: "`" + servertree.Ready + "` or `" + servertree.RunsNow + "`",
		servertree.Items: "items, as in `0,1,2`", servertree.Number: "number", servertree.Millis: "ms since 1970", servertree.Addr: "address",
	}
	b.WriteString("\n## ElasticJob's in layouts 2.0 and 1\n\nA member is its address there. Servers of ours write them, but for what consoles write, offsets, the counts of a member and `leader/execution`; `job migrate` writes those, too, where it goes back.\n\n" +
		"| path | layout | kind | value | written by | until |\n|---|---|---|---|---|---|\n")
	for _, n := range servertree.Nodes {
		kind := persistent
		if n.Ephemeral {
			kind = ephemeral
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", n.Name, cmp.Or(n.Only, "both"), kind, values[n.Value], n.By, n.Until)
	}
}

func mutations(of ...any) []any { return of }

func names(of []any) string {
	var all []string
	for _, x := range of {
		if text, ok := x.(string); ok {
			all = append(all, text)
			continue
		}
		all = append(all, reflect.TypeOf(x).Name())
	}
	return strings.Join(all, "; ")
}
