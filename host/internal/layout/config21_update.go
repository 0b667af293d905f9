package layout

import (
	"bytes"
	"fmt"
	"slices"
)

// UpdateConfig21 makes raw, the text of a configuration, say what c says. Only
// values that differ are written anew; whatever else is there stays as it is,
// byte for byte: order, spelling, unknown keys. A key that is missing is put at
// the end, unless its absence means the same. Without a difference the result
// is raw itself. It refuses what DecodeConfig21 or EncodeConfig21 refuse.
func UpdateConfig21(raw []byte, c *Config21) ([]byte, error) {
	old, there, err := read21(raw)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return EncodeConfig21(*c)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("update configuration of job %.200q: %w", c.JobName, err)
	}
	want := *c
	if want.JobType == Script21 {
		want.JobClass = scriptClass21
		if old.JobType == Script21 {
			old.JobClass = scriptClass21 // whatever is written there
		}
	}
	edits := there.edits(want.object())
	if len(edits) == 0 {
		return raw, nil
	}
	slices.SortStableFunc(edits, func(a, b edit21) int { return a.from - b.from })
	var text []byte
	done := 0
	for _, e := range edits {
		text = append(append(text, raw[done:e.from]...), e.text...)
		done = e.to
	}
	return want.bounded(append(text, raw[done:]...))
}

// edit21 replaces a part of a text.
type edit21 struct {
	from, to int
	text     []byte
}

// edits returns what to change in the text from which o was read so that it
// says what want says.
func (o *object21) edits(want *object21) []edit21 {
	var edits []edit21
	for _, m := range want.members {
		have := o.find(m.key)
		text := appendValue21(nil, m.value)
		inner, nested := have.value.(*object21)
		switch {
		case bytes.Equal(text, appendValue21(nil, have.value)):
		case have.from == 0:
			text = append(append(appendText21(nil, m.key), ':'), text...)
			if !o.empty {
				text = append([]byte{','}, text...)
			}
			o.empty = false
			edits = append(edits, edit21{o.end, o.end, text})
		case nested:
			edits = append(edits, inner.edits(m.value.(*object21))...)
		default:
			edits = append(edits, edit21{have.from, have.to, text})
		}
	}
	return edits
}
