package gson

import (
	"bytes"
	"slices"
)

// Update changes raw, from which o was read, to the values of want. Only values that
// differ are written anew; everything else stays as it is, byte for byte: order,
// spelling, unknown keys. A missing key is added at the end, unless its absence means
// the same. Without a difference the result is raw itself.
func (o *Object) Update(raw []byte, want *Object) []byte {
	edits := o.edits(want)
	if len(edits) == 0 {
		return raw
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	var text []byte
	done := 0
	for _, e := range edits {
		text = append(append(text, raw[done:e.from]...), e.text...)
		done = e.to
	}
	return append(text, raw[done:]...)
}

// edit replaces a part of a text.
type edit struct {
	from, to int
	text     []byte
}

// edits returns the changes that give the text from which o was read the values of want. o
// must have all keys of want.
func (o *Object) edits(want *Object) []edit {
	var edits []edit
	for _, m := range want.Members {
		have := o.find(m.Key)
		text := appendValue(nil, m.Value)
		inner, nested := have.Value.(*Object)
		switch {
		case bytes.Equal(text, appendValue(nil, have.Value)): // no change
		case have.from == 0: // the text does not have the key
			text = append(append(appendText(nil, m.Key), ':'), text...)
			if !o.empty {
				text = append([]byte{','}, text...)
			}
			o.empty = false // the next one needs a comma
			edits = append(edits, edit{o.end, o.end, text})
		case nested:
			edits = append(edits, inner.edits(m.Value.(*Object))...)
		default:
			edits = append(edits, edit{have.from, have.to, text})
		}
	}
	return edits
}
