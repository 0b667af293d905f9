package sandbox

// textSearch finds many texts in one pass (Aho and Corasick). The time it takes
// grows with the text that is searched, whatever a guest writes. Nodes are a tree of
// prefixes with lists of children: a row for each of 256 bytes would need a
// hundred times the memory of the texts.
type textSearch struct {
	nodes []searchNode
	roots [256]int32 // children of the root, which most bytes of most texts ask for
	texts []needle
}

// needle is a text to find. In base64 the first and the last character of a
// secret may hold bits of its neighbours; left and right say that such a
// character stands beside the text.
type needle struct {
	n           int
	left, right bool
}

type searchNode struct {
	child, next int32 // the first child, the next sibling; 0: none
	fail        int32 // the longest proper end of this prefix that is a prefix, too
	end         int32 // the nearest node that ends a text, this one or one by fail; 0: none
	text        int32 // of texts that end here; -1: none does
	b           byte
}

func newTextSearch() *textSearch { return &textSearch{nodes: []searchNode{{text: -1}}} }

// add is called before link.
func (s *textSearch) add(text string, left, right bool) {
	at := int32(0)
	for i := range len(text) {
		to := s.child(at, text[i])
		if to == 0 {
			to = int32(len(s.nodes))
			s.nodes = append(s.nodes, searchNode{b: text[i], text: -1, next: s.nodes[at].child})
			s.nodes[at].child = to
			if at == 0 {
				s.roots[text[i]] = to
			}
		}
		at = to
	}
	if at == 0 {
		return
	}
	if k := s.nodes[at].text; k >= 0 {
		s.texts[k].left, s.texts[k].right = s.texts[k].left || left, s.texts[k].right || right
		return
	}
	s.nodes[at].text = int32(len(s.texts))
	s.texts = append(s.texts, needle{len(text), left, right})
}

// child is the child of a node for a byte; 0: there is none.
func (s *textSearch) child(at int32, b byte) int32 {
	if at == 0 {
		return s.roots[b]
	}
	at = s.nodes[at].child
	for at != 0 && s.nodes[at].b != b {
		at = s.nodes[at].next
	}
	return at
}

// link computes where a search goes on when a prefix does not continue.
func (s *textSearch) link() {
	queue := []int32{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for c := s.nodes[at].child; c != 0; c = s.nodes[c].next {
			if at != 0 {
				s.nodes[c].fail = s.nextState(s.nodes[at].fail, s.nodes[c].b)
			}
			s.nodes[c].end = s.nodes[s.nodes[c].fail].end
			if s.nodes[c].text >= 0 {
				s.nodes[c].end = c
			}
			queue = append(queue, c)
		}
	}
}

// nextState is the longest prefix that ends with a byte after the prefix at.
func (s *textSearch) nextState(at int32, b byte) int32 {
	for {
		if to := s.child(at, b); to != 0 || at == 0 {
			return to
		}
		at = s.nodes[at].fail
	}
}

// longest is the longest text that ends at a prefix: it covers the others that
// do.
func (s *textSearch) longest(at int32) *needle {
	end := s.nodes[at].end
	if end == 0 {
		return nil
	}
	return &s.texts[s.nodes[end].text]
}
