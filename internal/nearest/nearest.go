// Package nearest finds the known name that is closest to a misspelled one, for
// "did you mean". Keys of the configuration, verbs, jobs, modules and
// strategies all use it; it knows none of them.
package nearest

import (
	"fmt"
	"strings"
)

// longest bounds the work: longer names, in bytes, are not compared.
const longest = 100

// To returns the candidate that name was probably meant to be, or "" if none is close
// enough: the one with the fewest edits, if these are at most a third of the name, or
// else the only candidate of which name is the first half or more.
func To(name string, candidates []string) string {
	name = plain(name)
	if name == "" || len(name) > longest {
		return ""
	}
	best, least := "", 1+max(1, len(name)/3) // least is one more than the edits that are accepted
	begins, several := "", false
	for _, c := range candidates {
		p := plain(c)
		if len(p) > longest {
			continue
		}
		if d := edits(name, p); d < least {
			best, least = c, d
		}
		if strings.HasPrefix(p, name) && len(p) <= 2*len(name) { // name is its first half or more
			begins, several = c, begins != ""
		}
	}
	if best == "" && !several {
		return begins
	}
	return best
}

// Question returns a question whether To was meant; "" if there is no candidate.
func Question(name string, candidates []string) string {
	if near := To(name, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// plain removes differences that people mix up: ElasticJob uses camel case, and many
// write hyphens.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "-", "_")) }

// edits counts insertions, deletions, replacements and swaps of neighbours that
// turn a into b.
func edits(a, b string) int {
	// row[j] counts the edits from a[:i] to b[:j], before and older those from a[:i-1] and a[:i-2].
	older, before, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		older, before, row = before, row, older
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(before[j]+1, row[j-1]+1, before[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
