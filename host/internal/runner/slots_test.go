package runner

import (
	"slices"
	"testing"
	"testing/synctest"
)

// A job of many items waits in line like one with a single item.
func TestJobsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := NewSlots(1)
		all <- struct{}{} // whoever runs now
		m := &member{lives: &lives{Runner: &Runner{Options: Options{Slots: all}}}}
		order := make(chan string, 4)
		wait := func(name string, front Slots) {
			free, ok := m.slots(t.Context(), &guest{front: front})
			if !ok {
				t.Errorf("%s got no slot", name)
				return
			}
			order <- name
			free()
		}
		front := NewSlots(1)
		for range 3 {
			go wait("many", front)
		}
		synctest.Wait()
		go wait("one", NewSlots(1))
		synctest.Wait()
		<-all
		synctest.Wait()
		close(order)
		var got []string
		for name := range order {
			got = append(got, name)
		}
		if want := []string{"many", "one", "many", "many"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}
