package sandbox

import (
	"maps"
	"slices"
	"strings"
)

const (
	// masked stands where a secret stood.
	masked = "***"
	// shortestLine is the shortest line of a secret of several lines that is
	// hidden on its own; a brace at the end of a file is none.
	shortestLine = 4
)

// mask hides the secrets of a run in whatever is kept of the guest's words. It
// knows them as they are, without white space around them, and their lines; a
// guest that writes one backwards is not a leak but a decision of whoever
// granted it. The time it takes grows with the text alone. A nil mask hides
// nothing.
type mask struct {
	patterns []pattern
	longest  int
}

// pattern is a text to look for, with the table of Knuth, Morris and Pratt: a
// guest could write texts that make a naive search slow.
type pattern struct {
	text string
	back []int32 // per prefix, the length of its longest proper end that is a prefix
}

func newMask(secrets map[string]string) *mask {
	texts := map[string]bool{}
	for _, secret := range secrets {
		whole := strings.TrimSpace(secret)
		texts[whole] = true
		if !strings.Contains(whole, "\n") {
			continue
		}
		for line := range strings.Lines(whole) {
			if line = strings.TrimSpace(line); len(line) >= shortestLine {
				texts[line] = true
			}
		}
	}
	delete(texts, "")
	if len(texts) == 0 {
		return nil
	}
	m := &mask{}
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		m.patterns = append(m.patterns, newPattern(text))
		m.longest = max(m.longest, len(text))
	}
	return m
}

func newPattern(text string) pattern {
	back := make([]int32, len(text))
	for i, n := 1, 0; i < len(text); i++ {
		for n > 0 && text[i] != text[n] {
			n = int(back[n-1])
		}
		if text[i] == text[n] {
			n++
		}
		back[i] = int32(n)
	}
	return pattern{text, back}
}

// slack is how much more of a text is needed than will be kept, on the side
// where it is cut, so that a secret across the cut is seen.
func (m *mask) slack() int {
	if m == nil {
		return 0
	}
	return m.longest - 1
}

// shows says whether there is a secret in s.
func (m *mask) shows(s string) bool { return m.covered(s) != nil }

// all hides the secrets in the whole of s.
func (m *mask) all(s string) string { return m.hide(s, 0, len(s)) }

// hide gives the bytes of s from lo to hi, where bytes that belong to a secret
// are replaced, each stretch of them by masked. The rest of s is looked at, too.
func (m *mask) hide(s string, lo, hi int) string {
	hi = min(hi, len(s))
	lo = min(lo, hi)
	secret := m.covered(s)
	if secret == nil {
		return s[lo:hi]
	}
	var b strings.Builder
	for i := lo; i < hi; {
		end := i
		for end < hi && secret[end] == secret[i] {
			end++
		}
		if secret[i] {
			b.WriteString(masked)
		} else {
			b.WriteString(s[i:end])
		}
		i = end
	}
	return b.String()
}

// covered marks the bytes of s that belong to secrets; nil if none do.
func (m *mask) covered(s string) []bool {
	if m == nil {
		return nil
	}
	var marks []bool
	for _, p := range m.patterns {
		for i, n, done := 0, 0, 0; i < len(s); i++ {
			for n > 0 && s[i] != p.text[n] {
				n = int(p.back[n-1])
			}
			if s[i] == p.text[n] {
				n++
			}
			if n < len(p.text) {
				continue
			}
			if marks == nil {
				marks = make([]bool, len(s))
			}
			for at := max(done, i+1-n); at <= i; at++ {
				marks[at] = true
			}
			done = i + 1
			n = int(p.back[n-1])
		}
	}
	return marks
}
