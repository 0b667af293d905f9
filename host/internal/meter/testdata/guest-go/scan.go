package main

import (
	"fmt"
	"strings"
)

// text is a document and how far it has been read.
type text struct {
	all []byte
	at  int
	sum uint64
}

func (t *text) next() byte {
	for t.at < len(t.all) && t.all[t.at] <= ' ' {
		t.at++
	}
	t.at++
	return t.all[t.at-1]
}

func (t *text) str() {
	for t.all[t.at] != '"' {
		if t.all[t.at] == '\\' {
			t.at++
		}
		t.sum = t.sum*31 + uint64(t.all[t.at])
		t.at++
	}
	t.at++
}

func (t *text) number() {
	n := uint64(0)
	t.at--
	for c := t.all[t.at]; c >= '0' && c <= '9'; c = t.all[t.at] {
		n = n*10 + uint64(c-'0')
		t.at++
	}
	t.sum += n
}

func (t *text) value() {
	switch t.next() {
	case '{':
		for {
			t.next()
			t.str()
			t.next()
			t.value()
			if t.next() == '}' {
				return
			}
		}
	case '[':
		for {
			t.value()
			if t.next() == ']' {
				return
			}
		}
	case '"':
		t.str()
	default:
		t.number()
	}
}

// scan reads the document of all languages, by hand.
//
//go:wasmexport json
func scan(n uint32) uint32 {
	var orders []string
	for i := range 20 {
		orders = append(orders, fmt.Sprintf(`{"id": %d, "name": "order \"%d\"", "cents": %d, "tags": ["new", "paid"], "ship": {"city": "Ulm", "zip": 89073}}`, i, i, i*7919))
	}
	all := []byte(`{"orders": [` + strings.Join(orders, ", ") + `]}`)
	sum := uint64(0)
	for range n {
		t := text{all: all, sum: sum}
		t.value()
		sum = t.sum
	}
	return uint32(sum)
}
