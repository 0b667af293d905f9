package clustertree

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDrains(t *testing.T) {
	t.Parallel()
	var d Drains
	for _, server := range []string{"10.0.0.2", "10.0.0.1", "10.0.0.2"} {
		if !d.Put(Drain{Server: server, By: "ann", Why: "a new\ndisk", Since: 1, Kept: []string{"j"}}) {
			t.Fatal("there is no room for", server)
		}
	}
	got, err := DecodeDrains(d.Encode())
	if err != nil || len(got.All) != 2 || got.Find("10.0.0.1") == nil || got.Find("10.0.0.2").Why != "a new?disk" || got.Find("10.0.0.3") != nil {
		t.Errorf("%v: %+v", err, got)
	}
	got.Remove("10.0.0.1")
	if len(got.All) != 1 || got.All[0].Server != "10.0.0.2" {
		t.Errorf("left are %+v", got.All)
	}
	if none, err := DecodeDrains(nil); err != nil || len(none.All) != 0 {
		t.Errorf("%v: without a node there are %+v", err, none)
	}
}

func TestDrainsAreBounded(t *testing.T) {
	t.Parallel()
	var d Drains
	for i := range MaxDrains {
		d.Put(Drain{Server: fmt.Sprintf("10.0.0.%03d", i), Since: 1})
	}
	for what, one := range map[string]Drain{
		"one too many": {Server: "10.0.1.1", Since: 1}, "no address": {Since: 1}, "no moment": {Server: "10.0.0.001"},
		"an address that is a page": {Server: strings.Repeat("1", maxDrainAddress+1), Since: 1},
		"too many jobs":             {Server: "10.0.0.001", Since: 1, Kept: slices.Repeat([]string{strings.Repeat("j", 100)}, 10_000)},
	} {
		if d.Put(one) {
			t.Errorf("%s: there was room", what)
		}
	}
	if len(d.All) != MaxDrains {
		t.Errorf("%d drains are left", len(d.All))
	}
}

func FuzzDrains(f *testing.F) {
	d := Drains{All: []Drain{{Server: "10.0.0.1", By: "ann", Why: "<x>", Since: 1, Kept: []string{"j"}}}}
	f.Add(d.Encode())
	f.Add([]byte(`{"v":2,"drains":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if d, err := DecodeDrains(data); err == nil && len(data) > 0 && string(d.Encode()) != string(data) {
			t.Errorf("%q is written as %q", data, d.Encode())
		}
	})
}
