package protocol_test

import (
	"fmt"
	"reflect"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// frozen is a value that must not change any more: a published view, or a
// plan that was given.
type frozen struct {
	given  any
	before any
}

// room is the spare capacity behind each slice of a published view, in which an append in
// place shows.
const room = 2

// publish copies a view for a member and watches over the copy.
func (c *cluster) publish(v *protocol.View) *protocol.View {
	given := copied(reflect.ValueOf(v), room).Interface().(*protocol.View)
	c.frozen = append(c.frozen, frozen{given, v})
	return given
}

// keepPlan watches a plan for changes.
func (c *cluster) keepPlan(p protocol.Plan) {
	c.frozen = append(c.frozen, frozen{p, copied(reflect.ValueOf(p), 0).Interface()})
}

// unchanged checks the newest n views and plans.
func (c *cluster) unchanged(n int) error {
	for _, f := range c.frozen[max(0, len(c.frozen)-n):] {
		same := reflect.DeepEqual(f.given, f.before)
		if _, view := f.given.(*protocol.View); !same || view && !roomEmpty(reflect.ValueOf(f.given)) {
			return fmt.Errorf("a %T was changed after it had been given away", f.given)
		}
	}
	return nil
}

func copied(v reflect.Value, spare int) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(copied(v.Elem(), spare))
		return p
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		i := reflect.New(v.Type()).Elem()
		i.Set(copied(v.Elem(), spare))
		return i
	case reflect.Struct:
		s := reflect.New(v.Type()).Elem()
		for i := range v.NumField() {
			s.Field(i).Set(copied(v.Field(i), spare))
		}
		return s
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		n := v.Len()
		s := reflect.MakeSlice(v.Type(), n+spare, n+spare)
		for i := range n {
			s.Index(i).Set(copied(v.Index(i), spare))
		}
		return s.Slice(0, n)
	}
	return v
}

// roomEmpty reports whether nothing was written behind the end of a slice.
func roomEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || roomEmpty(v.Elem())
	case reflect.Struct:
		for _, f := range v.Fields() {
			if !roomEmpty(f) {
				return false
			}
		}
	case reflect.Slice:
		all := v
		if v.CanAddr() || v.Cap() > v.Len() {
			all = v.Slice(0, v.Cap())
		}
		for i := range all.Len() {
			if i >= v.Len() && !all.Index(i).IsZero() || i < v.Len() && !roomEmpty(all.Index(i)) {
				return false
			}
		}
	}
	return true
}
