package spelling

import (
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
)

// written is JSON as encoding/json writes it, put together by hand because each begin
// and end of a run writes a record.
type written struct{ b []byte }

// key begins a member of an object. The argument includes the quotes and the colon.
func (w *written) key(spelled string) {
	if n := len(w.b); w.b[n-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, spelled...)
}

// object writes an object. members writes what is in it.
func (w *written) object(members func()) {
	w.b = append(w.b, '{')
	members()
	w.b = append(w.b, '}')
}

// list writes an array of n elements. element writes the one with index k.
func (w *written) list(n int, element func(k int)) {
	w.b = append(w.b, '[')
	for k := range n {
		if k > 0 {
			w.b = append(w.b, ',')
		}
		element(k)
	}
	w.b = append(w.b, ']')
}

func (w *written) null() { w.b = append(w.b, "null"...) }

func (w *written) number(key string, n int64) {
	w.key(key)
	w.b = strconv.AppendInt(w.b, n, 10)
}

// numberUnlessZero leaves out zero.
func (w *written) numberUnlessZero(key string, n int64) {
	if n != 0 {
		w.number(key, n)
	}
}

func (w *written) numbers(list []int64) {
	w.list(len(list), func(k int) { w.b = strconv.AppendInt(w.b, list[k], 10) })
}

// ints writes a list of numbers; null for a nil list, as encoding/json does.
func (w *written) ints(list []int) {
	if list == nil {
		w.null()
		return
	}
	w.list(len(list), func(k int) { w.b = strconv.AppendInt(w.b, int64(list[k]), 10) })
}

func (w *written) text(key, s string) {
	w.key(key)
	w.quoted(s)
}

// textUnlessEmpty writes a member of an object with a text; it leaves out an empty one.
func (w *written) textUnlessEmpty(key, s string) {
	if s != "" {
		w.text(key, s)
	}
}

// quoted writes a text in quotes. If it needs an escape, encoding/json writes it.
func (w *written) quoted(s string) {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			w.b = append(w.b, jsonvalue.Encode(s)...)
			return
		}
	}
	w.b = append(append(append(w.b, '"'), s...), '"')
}

// ranges writes ranges of items, as the function ranges returns them.
func (w *written) ranges(r [][3]int64) {
	if r == nil {
		w.null()
		return
	}
	w.list(len(r), func(k int) { w.numbers(r[k][:]) })
}

// byItem writes what byItem.MarshalJSON returns.
func (w *written) byItem(key string, s byItem) {
	w.key(key)
	if r := ranges(s); len(r) <= maxRanges {
		w.ranges(r)
	} else {
		w.b = append(w.b, s.packed()...)
	}
}

// byItemUnlessZero is byItem; it leaves out numbers that are all 0.
func (w *written) byItemUnlessZero(key string, s byItem) {
	if !s.IsZero() {
		w.byItem(key, s)
	}
}

// momentsUnlessZero writes what moments.MarshalJSON returns; it leaves out moments that are
// all unknown.
func (w *written) momentsUnlessZero(key string, s moments) {
	if len(ranges(s)) > maxRanges {
		s = s.rounded()
	}
	w.byItemUnlessZero(key, byItem(s))
}
