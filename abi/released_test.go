package abi

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write released.txt")

// The promise of ABI.md: a line of released.txt never changes. For an addition, -update
// adds its line; a line that changes or disappears breaks modules that were built.
func TestWhatIsReleasedStays(t *testing.T) {
	t.Parallel()
	var lines []string
	for name, value := range constants(t, "abi.go") {
		if name != "HostMinor" && name != "Version" {
			lines = append(lines, fmt.Sprintf("%s = %s", name, value.ExactString()))
		}
	}
	for _, f := range Functions() {
		lines = append(lines, fmt.Sprintf("%s(%s) -> (%s), since %d, grant %q", f.Name, f.Params, f.Results, f.Since, f.Grant))
	}
	slices.Sort(lines)
	text, err := os.ReadFile("released.txt")
	if err != nil && !*update {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); !slices.Contains(lines, line) {
			t.Errorf("released, and not so any more: %s", line)
		}
	}
	want := strings.Join(lines, "\n") + "\n"
	if *update && !t.Failed() {
		if err := os.WriteFile("released.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Error("released.txt lacks what is new: run go test ./abi -run Released -update")
	}
}
