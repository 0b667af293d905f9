package layout

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// What a configuration can name, some layout spells; nothing else is spelled.
func TestLayoutsAreThoseOfTheSetting(t *testing.T) {
	t.Parallel()
	for s := range job.Settings() {
		if s.Name != "layout" {
			continue
		}
		if len(s.Words) != len(layouts) {
			t.Errorf("the setting has %q, there are %d layouts", s.Words, len(layouts))
		}
		for _, word := range s.Words {
			if !Known(word) {
				t.Errorf("nobody spells layout %q", word)
			}
		}
	}
	if Known("4") || Known("") {
		t.Error("a layout that is not there is known")
	}
}

// A definition is spelled and read back by the layout that its job names, and says
// which that is.
func TestDefinitionsKeepTheirLayout(t *testing.T) {
	t.Parallel()
	for name := range layouts {
		c := job.Config{Name: "j", Layout: name, Kind: job.Simple, Cron: "0 0 2 * * ?", Shards: 3, Failover: true, MonitorExecution: true, MaxClockSkew: -1}
		l := New(name, "ns", c.Name)
		spelled, err := l.Spell(protocol.Definition{}, l.Define(c))
		if err != nil {
			t.Fatal(err)
		}
		v := l.NewDecoder(nil).View()
		v.Definition, v.Dirs.Module = spelled, true
		config, module := l.Defined(v)
		if config == nil || module == nil {
			t.Fatalf("layout %s cannot read %s and %s", name, spelled.Config, spelled.Module)
		}
		if facts := config.Facts(); facts.Layout != name || facts.Name != "j" || !facts.Failover || facts.Kind != job.Simple {
			t.Errorf("layout %s reads %+v", name, facts)
		}
		again, err := l.Spell(spelled, l.Define(c))
		if err != nil || !again.Same(spelled) {
			t.Errorf("layout %s spells the same otherwise: %s, %v", name, again.Config, err)
		}
		if err := Check(c); err != nil {
			t.Error(err)
		}
		if c.Shards = 0; Check(c) == nil {
			t.Errorf("layout %s takes a job without items", name)
		}
	}
}
