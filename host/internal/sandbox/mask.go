package sandbox

import (
	"maps"
	"slices"
	"strings"
)

const (
	// masked replaces a secret.
	masked = "***"
	// shortestLine is the length of the shortest line of a multi-line secret that is
	// masked on its own. A closing brace is not.
	shortestLine = 4
	// shortestCoded is the length of the shortest text that is searched for in
	// base64. Shorter ones leave so few characters that they would match by chance.
	shortestCoded = 4
	// maxPattern is the length of the longest text that is searched for as a whole.
	// maxMask limits the bytes of secrets whose lines are searched for separately.
	maxPattern = 1 << 10
	maxMask    = 256 << 10
)

// mask masks the secrets of a run in text from the guest. It finds secrets and their
// lines without surrounding white space, and their forms in JSON, quoted text, URLs
// and base64. It does not find a secret that the guest transforms otherwise. Its
// time is linear in the length of the text. A nil mask masks nothing.
type mask struct {
	plain, coded *textSearch // secrets as they are, and in base64
	longest      int         // length of the longest text in plain
	spaces       bool        // a secret contains a space
}

// newMask returns a mask for secrets by name, or nil if there are none.
func newMask(secrets map[string]string) *mask {
	m := &mask{plain: newTextSearch(), coded: newTextSearch()}
	// Beyond maxMask bytes of secrets, lines are not searched for separately.
	room := maxMask
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		whole := strings.TrimSpace(secrets[name])
		room -= len(whole)
		m.addText(whole)
		if strings.Contains(whole, "\n") {
			lines = slices.AppendSeq(lines, strings.Lines(whole))
		}
	}
	for _, line := range lines { // after all whole secrets, which have precedence
		if line = strings.TrimSpace(line); len(line) >= shortestLine && room >= len(line) {
			room -= len(line)
			m.addText(line)
		}
	}
	if m.longest == 0 {
		return nil
	}
	m.plain.link()
	m.coded.link()
	return m
}

// addText adds a text. A long one is added in pieces, which limits the context that
// is needed at the edge of a cut text.
func (m *mask) addText(text string) {
	m.spaces = m.spaces || strings.Contains(text, " ")
	for len(text) > 0 {
		piece := text[:min(len(text), maxPattern)]
		if rest := len(text) - len(piece); rest < shortestLine {
			piece = text // a shorter rest would match everywhere
		}
		text = text[len(piece):]
		m.longest = max(m.longest, len(piece))
		m.plain.add(piece, false, false)
		if len(piece) >= shortestCoded {
			m.coded.addBase64(piece)
		}
	}
}

// slack returns how many more bytes of a text are needed beyond a cut, so that a
// secret across the cut is found.
func (m *mask) slack() int {
	if m == nil {
		return 0
	}
	return m.longest * maxEscapeBytes
}

func (m *mask) contains(s string) bool { return m.covered(s) != nil }

func (m *mask) hideAll(s string) string { return m.hide(s, 0, len(s)) }

// hide returns s[lo:hi] with each stretch of secrets replaced by masked. It also searches
// the rest of s, because a secret may begin before lo or end after hi.
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

// covered marks the bytes of s that belong to secrets. It returns nil if there are
// none.
func (m *mask) covered(s string) []bool {
	if m == nil {
		return nil
	}
	var begins []int32 // matches that begin at a byte, minus those that end before it
	mark := func(lo, hi int) {
		if begins == nil {
			begins = make([]int32, len(s)+1)
		}
		begins[lo]++
		begins[hi]--
	}
	for _, r := range decodings(s, m.spaces) {
		m.find(&r, mark)
	}
	if begins == nil {
		return nil
	}
	marks := make([]bool, len(s))
	open := int32(0)
	for i := range marks {
		open += begins[i]
		marks[i] = open > 0
	}
	return marks
}

// find calls mark with the position in the text of each secret in a decoding of it.
func (m *mask) find(r *decodedText, mark func(lo, hi int)) {
	plain, coded := int32(0), int32(0)
	for i := range len(r.text) {
		plain = m.plain.nextState(plain, r.text[i])
		if found := m.plain.longest(plain); found != nil {
			mark(r.span(i+1-found.n, i+1))
		}
		coded = m.coded.nextState(coded, standard(r.text[i]))
		found := m.coded.longest(coded)
		if found == nil {
			continue
		}
		lo, hi := i+1-found.n, i+1
		// A neighbouring character with bits of the secret is hidden as well.
		if found.left && lo > 0 && isBase64(r.text[lo-1]) {
			lo--
		}
		if found.right && hi < len(r.text) && isBase64(r.text[hi]) {
			hi++
		}
		mark(r.span(lo, hi))
	}
}
