package snakeyaml

import "strings"

// shape is which styles a text can be written in, and why not others.
type shape struct {
	indicators bool // without quotes it would be read as something else
	breaks     bool // it has line breaks
	edges      bool // it begins or ends with a blank or a break
	endsBlank  bool
	breakBlank bool // a blank follows a break
	odd        bool // only double quotes can hold it
}

// plain, quoted and literal report whether a text can be written without quotes, in single
// quotes, or line by line.
func (s *shape) plain() bool   { return !s.indicators && !s.edges && s.quoted() }
func (s *shape) quoted() bool  { return !s.breakBlank && !s.odd }
func (s *shape) literal() bool { return !s.endsBlank && !s.odd }

const (
	breaks = "\n\u0085\u2028\u2029"
	blanks = "\x00 \t\r" // characters that count as blanks beside an indicator
	begins = "#,[]{}&*!|>'\"%@`"
)

func isBreak(r rune) bool { return strings.ContainsRune(breaks, r) }

// isBlank: a blank, a break or the end.
func isBlank(r rune) bool { return strings.ContainsRune(blanks+breaks, r) }

// printable reports whether a character may be in a text without an escape.
func printable(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r == '\u0085' || r >= ' ' && r <= '~' ||
		r >= '\u00a0' && r <= '\ud7ff' || r >= '\ue000' && r <= '\ufffd' || r >= '\U00010000'
}

// shapeOf finds the shape of a text, as SnakeYAML analyses it.
func shapeOf(text []rune) (s shape) {
	if head := string(text[:min(3, len(text))]); head == "---" || head == "..." {
		s.indicators = true
	}
	afterBlank := true // a break counts as one
	wasBlank, wasBreak := false, false
	for i, r := range text {
		last := i == len(text)-1
		beforeBlank := last || isBlank(text[i+1])
		switch {
		case i == 0 && strings.ContainsRune(begins, r),
			i == 0 && (r == '?' || r == '-') && beforeBlank,
			r == ':' && beforeBlank,
			i > 0 && r == '#' && afterBlank:
			s.indicators = true
		}
		if r != '\n' && (r < ' ' || r > '~') && (r == '\t' || r == '\r' || !printable(r)) {
			s.odd = true
		}
		blank, br := r == ' ', isBreak(r)
		s.edges = s.edges || (blank || br) && (i == 0 || last)
		s.endsBlank = s.endsBlank || blank && last
		s.breakBlank = s.breakBlank || blank && wasBreak
		s.odd = s.odd || br && wasBlank
		s.breaks = s.breaks || br
		wasBlank, wasBreak = blank, br
		afterBlank = isBlank(r)
	}
	return s
}
