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
	// shortestCoded is the shortest text that is looked for in base64: of fewer
	// bytes so little is left that it would be found by chance.
	shortestCoded = 4
	// maxPattern is the longest text that is looked for as a whole, and maxMask
	// bounds what is looked for beside the secrets themselves, in bytes.
	maxPattern = 1 << 10
	maxMask    = 256 << 10
)

// mask hides the secrets of a run in whatever is kept of the guest's words. It
// knows them, and their lines, without white space around them, and as they look
// in JSON, in quoted text, in URLs and within base64; a guest that writes one
// backwards is not a leak but a decision of whoever granted it. The time it
// takes grows with the text alone. A nil mask hides nothing.
type mask struct {
	plain, coded *textSearch // secrets as they are; as base64
	longest      int         // text of plain
	spaces       bool        // a secret has one
}

func newMask(secrets map[string]string) *mask {
	m := &mask{plain: newTextSearch(), coded: newTextSearch()}
	// Of more secrets than anybody has, the lines are not looked for one by one.
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
	for _, line := range lines {
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

// addText adds a text. A long one is looked for in pieces, so that little is
// needed to know what stands at the edge of a text that was cut.
func (m *mask) addText(text string) {
	m.spaces = m.spaces || strings.Contains(text, " ")
	for len(text) > 0 {
		piece := text[:min(len(text), maxPattern)]
		if rest := len(text) - len(piece); rest < shortestLine {
			piece = text // what is left would be found everywhere
		}
		text = text[len(piece):]
		m.longest = max(m.longest, len(piece))
		m.plain.add(piece, false, false)
		if len(piece) >= shortestCoded {
			m.coded.addBase64(piece)
		}
	}
}

// slack is how much more of a text is needed than will be kept, on the side
// where it is cut, so that a secret across the cut is seen.
func (m *mask) slack() int {
	if m == nil {
		return 0
	}
	return m.longest * maxEscapeBytes
}

// contains says whether there is a secret in s.
func (m *mask) contains(s string) bool { return m.covered(s) != nil }

// hideAll hides the secrets in the whole of s.
func (m *mask) hideAll(s string) string { return m.hide(s, 0, len(s)) }

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
	var begins []int32 // how many finds begin at a byte, less those that ended before it
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

// find tells where in the text secrets stand that are seen in a reading of it.
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
		if found.left && lo > 0 && isBase64(r.text[lo-1]) {
			lo--
		}
		if found.right && hi < len(r.text) && isBase64(r.text[hi]) {
			hi++
		}
		mark(r.span(lo, hi))
	}
}
