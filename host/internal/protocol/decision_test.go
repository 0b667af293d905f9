package protocol

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// RulesWrite asks every rule and reports whether one of them changes the State by
// itself.
func RulesWrite(s *State) bool {
	observed := s.settled() || s.commits.flight != nil && s.commits.flight.view == s.view
	if !observed || s.session.lost || s.session.ended || s.view.RecordFault != "" {
		return false // no rule is asked
	}
	before := dump(s)
	for _, r := range rules {
		r.decide(&facts{State: s})
	}
	return dump(s) != before
}

// dump prints all that a State has, except the view, which frozen_test.go watches.
func dump(s *State) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(s).Elem())
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() || v.Type() == reflect.TypeFor[*View]() {
			fmt.Fprint(b, v.IsNil())
			return
		}
		dumpValue(b, v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			dumpValue(b, field)
			b.WriteByte(' ')
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprint(b, "[", v.Len())
		for k := range v.Len() {
			dumpValue(b, v.Index(k))
			b.WriteByte(',')
		}
	case reflect.Map:
		fmt.Fprint(b, "map", v.Len())
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		fmt.Fprint(b, v.IsNil())
	default:
		fmt.Fprint(b, v)
	}
}

func TestDump(t *testing.T) {
	t.Parallel()
	s := NewState(Options{})
	before := dump(s)
	s.backlog.due = append(s.backlog.due, due{item: 1})
	between := dump(s)
	s.backlog.due[0].at++
	if after := dump(s); before == between || between == after {
		t.Error("a change of the backlog is not seen")
	}
}

// TestStateIsDivided checks that the State is divided into parts that can be read alone.
func TestStateIsDivided(t *testing.T) {
	t.Parallel()
	const most, mostOfPart = 20, 15
	state := reflect.TypeFor[State]()
	if n := state.NumField(); n > most {
		t.Errorf("State has %d fields, at most %d may be: put them into the part of their concern", n, most)
	}
	for part := range state.Fields() {
		if part.Type.Kind() == reflect.Struct && part.Name != "o" && part.Type.NumField() > mostOfPart {
			t.Errorf("State.%s has %d fields, at most %d may be: divide it", part.Name, part.Type.NumField(), mostOfPart)
		}
	}
}
