package gson

import (
	"bytes"
	"fmt"
	"strings"
)

// Read reads one object into the values of o's members. Only blanks may follow it. Read
// returns io.EOF if there is no object at all.
func Read(text []byte, o *Object) error {
	r := &reader{text: string(text), pos: len(text) - len(bytes.TrimPrefix(text, []byte("\ufeff")))}
	return r.document(o)
}

// document reads the whole text, which is one object.
func (r *reader) document(o *Object) error {
	if _, err := r.next(); err != nil {
		return err
	}
	const guard = ")]}'\n" // makes a text unusable as a script
	if strings.HasPrefix(r.text[r.pos:], guard) {
		r.pos += len(guard)
	}
	if err := r.members(o, r.skip); err != nil {
		return err
	}
	if strings.Trim(r.text[r.pos:], " \t\r\n") != "" {
		return r.fault("something stands behind the object")
	}
	return nil
}

// members reads an object into o; the last value of a repeated key counts. unknown reads
// the value of a key that o does not have.
func (r *reader) members(o *Object, unknown func() error) error {
	o.empty = true
	end, err := r.object(func(key string) error {
		o.empty = false
		m := o.find(key)
		if m == nil {
			o.Unknown = append(o.Unknown, key)
			if err := unknown(); err != nil {
				return fmt.Errorf("key %.100q: %w", key, err)
			}
			return nil
		}
		m.from = r.pos // where Update can replace the value
		if err := r.value(m.Value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		m.to = r.pos
		return nil
	})
	o.end = end
	return err
}

// value reads the next value into value, which is one of the pointers that a Member may
// have.
func (r *reader) value(value any) (err error) {
	switch v := value.(type) {
	case *string:
		*v, err = r.string()
	case Word:
		var text string
		if text, err = r.string(); err == nil {
			if unknown := v.SetWord(text); unknown != nil {
				err = r.fault("%s", unknown)
			}
		}
	case *int32:
		*v, err = r.int()
	case *bool:
		*v, err = r.bool()
	case *Object:
		err = r.properties(v)
	}
	return err
}

// properties reads a nested object. If it occurs again, it replaces the first, so all that
// was read of that is forgotten. An unknown key in it breaks Java's reading.
func (r *reader) properties(o *Object) error {
	o.Begin()
	for i := range o.Members {
		o.Members[i].from = 0 // not in the text so far
	}
	return r.members(o, func() error { return r.fault("Java members can't read a configuration with this key here") })
}
