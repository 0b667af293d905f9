package sandbox

// textSearch finds many texts in one pass (Aho-Corasick). Its time is linear in the
// length of the searched text, whatever a guest writes. Nodes form a prefix tree
// with lists of children: an array of 256 children per node would take a hundred
// times the memory.
type textSearch struct {
	nodes []searchNode
	roots [256]int32 // children of the root, the most frequent lookup
	texts []needle
}

// needle is a text to find. In base64 the first and the last character of a secret
// may contain bits of its neighbours; left and right report that such a character is
// next to the text.
type needle struct {
	n           int
	left, right bool
}

type searchNode struct {
	child, next int32 // first child, next sibling; 0: none
	fail        int32 // longest proper suffix of this prefix that is a prefix as well
	end         int32 // nearest node that ends a text: this one, or one along fail; 0: none
	text        int32 // index of the text that ends here; -1: none
	b           byte
}

func newTextSearch() *textSearch { return &textSearch{nodes: []searchNode{{text: -1}}} }

// add adds a text to find. left and right report that the character before or after it may
// contain bits of it, in base64. add must be called before link.
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
	if at == 0 { // the text is empty
		return
	}
	if k := s.nodes[at].text; k >= 0 { // it was added before
		s.texts[k].left, s.texts[k].right = s.texts[k].left || left, s.texts[k].right || right
		return
	}
	s.nodes[at].text = int32(len(s.texts))
	s.texts = append(s.texts, needle{len(text), left, right})
}

// child returns the child of a node for a byte, or 0.
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

// link computes fail and end of all nodes, from the root down: those of a node depend on
// shorter prefixes.
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

// nextState returns the longest prefix that ends with b, after the prefix at.
func (s *textSearch) nextState(at int32, b byte) int32 {
	for {
		if to := s.child(at, b); to != 0 || at == 0 {
			return to
		}
		at = s.nodes[at].fail
	}
}

// longest returns the longest text that ends at a prefix; it covers the shorter
// ones.
func (s *textSearch) longest(at int32) *needle {
	end := s.nodes[at].end
	if end == 0 {
		return nil
	}
	return &s.texts[s.nodes[end].text]
}
