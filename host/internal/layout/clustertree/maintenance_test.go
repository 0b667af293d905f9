package clustertree

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestMaintenance(t *testing.T) {
	t.Parallel()
	m := Maintenance{By: "ann", Why: "a new\ndisk", Since: 1, Until: 2, Paused: []string{"b", "a"}, Extended: []Extended{{"b", 0, 2}, {"a", 1, 3}}}
	got, err := DecodeMaintenance(m.Encode())
	if err != nil || !reflect.DeepEqual(got, m) || got.Why != "a new?disk" || got.Paused[0] != "a" || got.Extended[0].Job != "a" {
		t.Errorf("%v: %+v, want %+v", err, got, m)
	}
	if none, err := DecodeMaintenance(nil); err != nil || none.Until != 0 {
		t.Errorf("%v: without a node there is %+v", err, none)
	}
	for what, m := range map[string]Maintenance{
		"no end": {Since: 1}, "no beginning": {Until: 1},
		"too many jobs":          {Since: 1, Until: 2, Paused: slices.Repeat([]string{"j"}, MaxMaintained+1)},
		"a pause without an end": {Since: 1, Until: 2, Extended: []Extended{{Job: "j"}}},
		"a pause from before":    {Since: 1, Until: 2, Extended: []Extended{{"j", -1, 2}}},
		"names of many pages":    {Since: 1, Until: 2, Paused: slices.Repeat([]string{strings.Repeat("j", 1000)}, 1000)},
	} {
		if m.Encode() != nil {
			t.Errorf("%s: it can be kept", what)
		}
	}
}

func FuzzMaintenance(f *testing.F) {
	m := Maintenance{By: "ann", Why: "<x>", Since: 1, Until: 2, Paused: []string{"j"}}
	f.Add(m.Encode())
	m.Extended = []Extended{{"j", 1, 2}}
	f.Add(m.Encode())
	f.Add([]byte(`{"v":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := DecodeMaintenance(data); err == nil && len(data) > 0 && string(m.Encode()) != string(data) {
			t.Errorf("%q is written as %q", data, m.Encode())
		}
	})
}
