package v21

import (
	"bytes"
	"fmt"
	"slices"
)

// UpdateConfig makes raw, the text of a configuration, say what c says. Only
// values that differ are written anew; whatever else is there stays as it is,
// byte for byte: order, spelling, unknown keys. A key that is missing is put at
// the end, unless its absence means the same. Without a difference the result
// is raw itself. It refuses what DecodeConfig or EncodeConfig refuse.
func UpdateConfig(raw []byte, c *Config) ([]byte, error) {
	old, there, err := read(raw)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return EncodeConfig(*c)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("update configuration of job %.200q: %w", c.JobName, err)
	}
	want := *c
	if want.JobType == Script {
		want.JobClass = scriptClass
		if old.JobType == Script {
			old.JobClass = scriptClass // whatever is written there
		}
	}
	edits := there.edits(want.object())
	if len(edits) == 0 {
		return raw, nil
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	var text []byte
	done := 0
	for _, e := range edits {
		text = append(append(text, raw[done:e.from]...), e.text...)
		done = e.to
	}
	return want.bounded(append(text, raw[done:]...))
}

// edit replaces a part of a text.
type edit struct {
	from, to int
	text     []byte
}

// edits returns what to change in the text from which o was read so that it
// says what want says.
func (o *object) edits(want *object) []edit {
	var edits []edit
	for _, m := range want.members {
		have := o.find(m.key)
		text := appendValue(nil, m.value)
		inner, nested := have.value.(*object)
		switch {
		case bytes.Equal(text, appendValue(nil, have.value)):
		case have.from == 0:
			text = append(append(appendText(nil, m.key), ':'), text...)
			if !o.empty {
				text = append([]byte{','}, text...)
			}
			o.empty = false
			edits = append(edits, edit{o.end, o.end, text})
		case nested:
			edits = append(edits, inner.edits(m.value.(*object))...)
		default:
			edits = append(edits, edit{have.from, have.to, text})
		}
	}
	return edits
}
