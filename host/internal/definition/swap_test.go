package definition_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/definition"
)

func code(n int) definition.Code { return definition.Code{Name: "m", Digest: fmt.Sprintf("%064x", n)} }

// numbers returns the numbers of the given test modules.
func numbers(t *testing.T, codes ...definition.Code) []int {
	t.Helper()
	var all []int
	for _, c := range codes {
		var n int
		if _, err := fmt.Sscanf(c.Digest, "%x", &n); err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// A switch keeps the module that ran before; going back drops the module that it leaves.
func TestSwitchRemembersWhatRan(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		to   []int // modules to switch to in turn, from 1
		past []int
	}{
		{"forth", []int{2, 3}, []int{1, 2}},
		{"back", []int{2, 3, 2}, []int{1}},
		{"back_by_two", []int{2, 3, 1}, nil},
		{"back_and_forth", []int{2, 3, 2, 4}, []int{1, 2}},
		{"to_itself", []int{2, 2}, []int{1}},
		{"many", []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, []int{3, 4, 5, 6, 7, 8, 9, 10}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			now := code(1)
			m := definition.Module{Code: &now}
			for _, n := range tt.to {
				m.Replace(code(n))
				text, err := definition.EncodeModule(m)
				if err != nil {
					t.Fatal(err)
				}
				if m, err = definition.DecodeModule(definition.Switched(text)); err != nil {
					t.Fatal(err)
				}
				if got := numbers(t, *m.Code); m.Next != nil || got[0] != n {
					t.Fatalf("switched to %d: %v runs, %v is to come", n, got, m.Next)
				}
			}
			if got := numbers(t, m.Past...); !slices.Equal(got, tt.past) {
				t.Errorf("ran before: %v, want %v", got, tt.past)
			}
		})
	}
}

// A switch also succeeds if the node has no space for the earlier modules.
func TestSwitchOfALargeNode(t *testing.T) {
	t.Parallel()
	now, next := code(1), code(2)
	m := definition.Module{Code: &now, Next: &next}
	text, err := definition.EncodeModule(m)
	if err != nil {
		t.Fatal(err)
	}
	next.Name += strings.Repeat("x", definition.MaxModule-len(text))
	if text, err = definition.EncodeModule(m); err != nil || len(text) != definition.MaxModule {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	if m, err = definition.DecodeModule(definition.Switched(text)); err != nil || m.Next != nil || m.Code.Digest != next.Digest || m.Past != nil {
		t.Errorf("%v, %v", m.Next, err)
	}
}

// A server's file does not change the list of earlier modules.
func TestMergeKeepsWhatRan(t *testing.T) {
	t.Parallel()
	var h held
	h.apply(t, plainJob(), digestA)
	h.module.Past = []definition.Code{code(1), code(2)}
	file := plainJob()
	file.ModuleDigest = digestB
	merged, err := definition.Merge(define(file), h.held(), h.module)
	if err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, merged.Module.Past...); !slices.Equal(got, []int{1, 2}) || merged.Module.Next == nil {
		t.Errorf("ran before: %v; to come: %v", got, merged.Module.Next)
	}
}
