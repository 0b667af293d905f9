package clustertree

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// hexOf returns a hash made from a number.
func hexOf(n int) string { return fmt.Sprintf("%064x", n) }

// The sessions of one token, and those of all, are bounded, and are read as they were written.
func TestSessions(t *testing.T) {
	t.Parallel()
	var s Sessions
	for i := range MaxSessions + 1 {
		of := i / MaxSessionsOf
		if ok := s.Add(Session{Hash: hexOf(i), Token: hexOf(of), Until: lastMoment}); ok != (i < MaxSessions) {
			t.Fatalf("session %d: there is room: %v", i, ok)
		}
	}
	if !s.Add(Session{Hash: hexOf(7777), Token: hexOf(3), Until: 1}) || len(s.All) != MaxSessions {
		t.Errorf("one more of a token that has all it may have leaves %d", len(s.All))
	}
	if _, ok := s.Find(hexOf(3 * MaxSessionsOf)); ok {
		t.Error("its oldest one is still there")
	}
	if _, ok := s.Find(hexOf(3*MaxSessionsOf + 1)); !ok {
		t.Error("its second one has gone")
	}
	text := s.Encode()
	if got, err := DecodeSessions(text); err != nil || !reflect.DeepEqual(got, s) || len(text) > maxSessions {
		t.Errorf("%d bytes are read with %v", len(text), err)
	}
	if !s.Remove(func(one Session) bool { return one.Until == 1 }) || s.Remove(func(one Session) bool { return one.Until == 1 }) {
		t.Error("the one that ends first is not removed once")
	}
	for _, text := range []string{
		`{"v":1}`, `{"v":2,"sessions":[]}`, `{"v":1,"sessions":[{}]}`, `{"v":1,"sessions":[],"more":1}`,
		`{"v":1,"sessions":[{"hash":"` + hexOf(1) + `","token":"` + strings.ToUpper(hexOf(10)) + `","until":1}]}`,
		`{"v":1,"sessions":[{"hash":"` + hexOf(1) + `","token":"` + hexOf(1) + `","until":0}]}`,
	} {
		if got, err := DecodeSessions([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", text, got)
		}
	}
}
