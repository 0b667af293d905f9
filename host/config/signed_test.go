package config

import (
	"slices"
	"testing"
)

// Public keys for modules are read, and those of the server apply at a restart.
func TestKeysOfModules(t *testing.T) {
	t.Parallel()
	const (
		one = "RWTa9r0txty5R4WgGGpg6n6Oma20JKaCCO3vtSgFqaGRTcbKIA9BwUck"
		two = "RWQ+7keo/415gOC9yI7pwLYIZYwQtDYsES6o9fxWOE+ZTnpQ7p77IEwg"
	)
	load := func(text string) *File {
		t.Helper()
		f, err := Parse("t.toml", []byte(text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	before := load("[modules.m]\nsource = 'x'\n")
	now := load("[host]\nmodule_keys = ['" + one + "', '" + two + "']\n[modules.m]\nsource = 'x'\nkeys = ['" + two + "']\n")
	if !slices.Equal(now.Host.ModuleKeys, []string{one, two}) || !slices.Equal(now.Modules[0].Keys, []string{two}) {
		t.Errorf("%q, %q", now.Host.ModuleKeys, now.Modules[0].Keys)
	}
	if keys := before.NeedsRestart(now); !slices.Equal(keys, []string{"host.module_keys"}) {
		t.Errorf("needs a restart for %q", keys)
	}
}
