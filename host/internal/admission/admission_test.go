package admission

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

const class, other = "com.example.Job", "com.example.Other"

// fits returns the facts of a server whose file agrees with the registry.
func fits() Facts {
	return Facts{
		Job:        job.Config{Kind: job.Simple, Class: class, TimeZone: "UTC", Strategy: "average"},
		Definition: &Definition{Class: class, Type: "SIMPLE", Monitor: true, Strategy: "average"},
		OwnFile:    true,
		Knows:      func(name string) bool { return name == "average" },
	}
}

func codes(all []reason.Reason) (codes []reason.Code) {
	for _, why := range all {
		codes = append(codes, why.Code)
	}
	return codes
}

func TestDecide(t *testing.T) {
	t.Parallel()
	type list = []reason.Code
	differs, stays := list{reason.ClassDiffers}, list{reason.ClassDiffers, reason.ClassStays}
	foreign := func(f *Facts) { f.Foreign = true }
	renamed := func(f *Facts) { f.Definition.Class = other }
	nameless := func(f *Facts) { f.Definition.Class, f.Definition.OnlyOurs = "", true }
	member := func(f *Facts) { f.Member = true }
	stands := func(f *Facts) { f.StandsFor = true }
	candidate := func(f *Facts) { f.OwnFile = false }
	overwrite := func(f *Facts) { f.Job.Overwrite = true }
	noType := func(f *Facts) { f.Definition.StrategyType = "AVG_ALLOCATION" }
	type set = []func(*Facts)
	for _, c := range []struct {
		name                          string
		facts                         set
		blockers, onlyAlone, warnings list
	}{
		{name: "the file says what the registry says"},
		{name: "also beside members of ElasticJob", facts: set{foreign}},

		{name: "another class: who starts", facts: set{renamed}, blockers: differs},
		{name: "another class: a member", facts: set{renamed, member}, onlyAlone: stays},
		{name: "another class: a member without a file", facts: set{renamed, member, candidate}, onlyAlone: stays},
		{name: "another class: a member beside members of ElasticJob", facts: set{renamed, member, foreign}, blockers: differs},
		{name: "another class: a member that was kept out", facts: set{renamed, member, func(f *Facts) { f.Barred = true }}, blockers: differs},
		{name: "another class: who starts, for the class before", facts: set{renamed, stands}, onlyAlone: stays},
		{name: "another class: who starts, for the class before, and was kept out", facts: set{renamed, stands, func(f *Facts) { f.Barred = true }}, blockers: differs},
		{name: "another class: who starts without a file", facts: set{renamed, stands, candidate}, blockers: differs},
		{name: "another class: who starts, for the class before, beside members of ElasticJob", facts: set{renamed, stands, foreign}, blockers: differs},
		{name: "another class: who writes its own", facts: set{renamed, overwrite}},
		{name: "another class: a member that writes its own", facts: set{renamed, overwrite, member}},
		{name: "another class: who writes its own beside members of ElasticJob", facts: set{renamed, overwrite, foreign}, blockers: differs},
		{name: "another class, which no member of ElasticJob can run", facts: set{renamed, foreign, func(f *Facts) { f.Definition.OnlyOurs = true }}},
		{name: "no class in the registry", facts: set{nameless}},
		{name: "no class in the registry, beside members of ElasticJob", facts: set{nameless, member, foreign}, blockers: list{reason.ClassMissing}},
		{name: "another layout", facts: set{func(f *Facts) { f.FileLayout, f.Definition.Layout = "2.1", "3" }}, blockers: list{reason.LayoutDiffers}},
		{name: "members known by addresses", facts: set{func(f *Facts) { f.Definition.ByAddress = true }}},
		{name: "members known by addresses, beside members of ElasticJob", facts: set{foreign, func(f *Facts) { f.Definition.ByAddress = true }}, blockers: list{reason.ForeignByAddress}},
		{name: "the layout of the file", facts: set{func(f *Facts) { f.FileLayout, f.Definition.Layout = "3", "3" }}},
		{name: "another layout, without a file", facts: set{candidate, func(f *Facts) { f.Definition.Layout = "3" }}},
		{name: "a job that sends a request", facts: set{renamed, overwrite, func(f *Facts) { f.Definition.HTTP = true }}, blockers: list{reason.TypeHTTP}},
		{name: "items that stay where they are", facts: set{renamed, overwrite, func(f *Facts) { f.Definition.Static = true }}, blockers: list{reason.StaticSharding}},
		{name: "a strategy by a name that ElasticJob does not take", facts: set{noType}, warnings: list{reason.StrategyNoType}},
		{name: "such a name, beside members of ElasticJob", facts: set{foreign, noType}, blockers: list{reason.StrategyNoType}},
		{name: "such a name, in a job that only ours can run", facts: set{noType, func(f *Facts) { f.Definition.OnlyOurs = true }}},
		{name: "no class in the file", facts: set{func(f *Facts) { f.Job.Class = "" }}, blockers: list{reason.ClassNotNamed}},

		{name: "a command in both", facts: set{renamed, func(f *Facts) { f.Definition.Script, f.Job.Kind = true, job.Script }}},
		{name: "a command in the registry", facts: set{func(f *Facts) { f.Definition.Script = true }}, blockers: list{reason.TypeDiffers}},
		{name: "a command in the file", facts: set{func(f *Facts) { f.Job.Kind = job.Script }}, blockers: list{reason.TypeDiffers}},

		{name: "no time zone", facts: set{func(f *Facts) { f.Job.TimeZone = "" }}},
		{name: "no time zone, beside members of ElasticJob", facts: set{foreign, func(f *Facts) { f.Job.TimeZone = "" }}, blockers: list{reason.ZoneMissing}},
		{name: "not monitored", facts: set{func(f *Facts) { f.Definition.Monitor = false }}},
		{name: "not monitored, beside members of ElasticJob", facts: set{foreign, func(f *Facts) { f.Definition.Monitor = false }}, blockers: list{reason.MonitorOff}},
		{
			name: "all of it", facts: set{foreign, renamed, member, func(f *Facts) {
				f.Unable, f.Job.TimeZone, f.Definition.Monitor = Invalid(errors.New("cron: no")), "", false
			}},
			blockers: list{reason.InvalidHere, reason.ClassDiffers, reason.ZoneMissing, reason.MonitorOff},
		},

		{name: "no definition", facts: set{func(f *Facts) { f.Definition = nil }}},
		{name: "no definition, beside members of ElasticJob", facts: set{foreign, func(f *Facts) { f.Definition = nil }}, blockers: list{reason.ConfigGoneWithForeign}},
		{name: "one that cannot be read", facts: set{func(f *Facts) { f.Definition, f.Unreadable = nil, "no JSON" }}},
		{name: "one that cannot be read, beside members of ElasticJob", facts: set{foreign, func(f *Facts) { f.Definition, f.Unreadable = nil, "no JSON" }}, blockers: list{reason.ConfigUnreadable}},

		{name: "an unknown strategy", facts: set{func(f *Facts) { f.Job.Strategy = "best" }}, warnings: list{reason.StrategyUnknown}},
		{name: "an unknown strategy, and nobody asks", facts: set{func(f *Facts) { f.Job.Strategy, f.Knows = "best", nil }}},
		{name: "an unknown strategy of a candidate, which bars it", facts: set{candidate, func(f *Facts) { f.Job.Strategy, f.Unable = "best", Invalid(errors.New("strategy: best")) }}, blockers: list{reason.InvalidHere}},
		{name: "an unknown strategy of a candidate, which does not", facts: set{candidate, func(f *Facts) { f.Job.Strategy = "best" }}, warnings: list{reason.StrategyUnknown}},
		{name: "an unknown strategy beside members of ElasticJob", facts: set{foreign, func(f *Facts) { f.Definition.Strategy = "theirs" }}, warnings: list{reason.StrategyUnknownWithForeign}},
		{name: "a strategy module", facts: set{func(f *Facts) { f.Job.Strategy, f.Job.StrategyModule = "", "near" }}},
		{name: "a strategy module beside members of ElasticJob", facts: set{foreign, func(f *Facts) { f.Job.StrategyModule = "near" }}, warnings: list{reason.StrategyModuleRefused}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := fits()
			for _, set := range c.facts {
				set(&f)
			}
			unable := slices.Clone(f.Unable)
			v := Decide(&f)
			got := []list{codes(v.Blockers), codes(v.OnlyAlone), codes(v.Warnings)}
			if d := cmp.Diff([]list{c.blockers, c.onlyAlone, c.warnings}, got); d != "" {
				t.Error(d)
			}
			if v.Barred() != (len(c.blockers) > 0) || !slices.Equal(f.Unable, unable) {
				t.Errorf("barred %v; the facts became %v", v.Barred(), f.Unable)
			}
		})
	}
}

// Decide does not write to the caller's slice, even if it has spare capacity.
func TestDecideDoesNotWriteToTheFacts(t *testing.T) {
	t.Parallel()
	f := fits()
	f.Foreign, f.Job.TimeZone = true, ""
	all := Invalid(errors.New("one\ntwo"))
	f.Unable = all[:1]
	if v := Decide(&f); len(v.Blockers) != 2 || all[1].String() != "two" {
		t.Errorf("%v; behind it stands %v", v.Blockers, all)
	}
}

func TestUnable(t *testing.T) {
	t.Parallel()
	file := job.Config{Name: "j", Kind: job.Simple, Shards: 1, Module: "m", Layout: job.Layout21, Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, MaxClockSkew: -1}
	defined := file
	defined.ModuleDigest = strings.Repeat("0", 64)
	asks := []reason.Reason{reason.Of(reason.StateAboveLimit)}
	for _, c := range []struct {
		name string
		set  func(*Settings)
		own  bool // the server's own file has the job
		want []string
	}{
		{name: "a job that others define"},
		{name: "a job of the file", own: true},
		{name: "it is invalid", set: func(s *Settings) { s.Job.Shards = -1 }, want: []string{"shards"}},
		{name: "the file was validated", own: true, set: func(s *Settings) { s.Job.Shards = -1 }},
		{name: "its cron cannot be used", own: true, set: func(s *Settings) { s.Cron = errors.New("cron: no") }, want: []string{"cron: no"}},
		{name: "its strategy is unknown", set: func(s *Settings) { s.Strategy = errors.New("strategy: no") }, want: []string{"strategy: no"}},
		{name: "its strategy is unknown, and its class is one of ElasticJob", set: func(s *Settings) { s.Strategy, s.Job.Class = errors.New("strategy: no"), class }},
		{name: "its strategy is the file's", own: true, set: func(s *Settings) { s.Strategy = errors.New("strategy: no") }},
		{name: "no digest", set: func(s *Settings) { s.Job.ModuleDigest = "" }, want: []string{"no digest"}},
		{name: "no digest, and the embedder runs it", set: func(s *Settings) { s.Job.ModuleDigest, s.Modules = "", false }},
		{name: "a command of others", set: func(s *Settings) { s.Job.Kind, s.Job.Command, s.Job.Module = job.Script, "/bin/x", "" }, want: []string{"takes only from its own file"}},
		{name: "another command than the file's", own: true, set: func(s *Settings) { s.Job.Command = "/bin/x" }, want: []string{"takes only from its own file"}},
		{name: "grants of others", set: func(s *Settings) { s.Job.Allow.State = true }, want: []string{"state is more"}},
		{name: "grants of the file", own: true, set: func(s *Settings) { s.Job.Allow.State, s.File.Allow.State = true, true }},
		{name: "grants of the file, none of them spelled twice", own: true, set: func(s *Settings) { s.Job.Allow.Env, s.File.Allow.HTTP = map[string]string{}, []string{} }},
		{name: "other grants than the file's", own: true, set: func(s *Settings) { s.Job.Allow.State = true }, want: []string{"state is more"}},
		{
			name: "all of it",
			set: func(s *Settings) {
				s.Cron, s.Strategy, s.Job.ModuleDigest, s.Job.Allow.State = errors.New("a\nb"), errors.New("c"), "", true
			},
			want: []string{"a", "b", "c", "no digest", "state"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := Settings{Job: defined, Modules: true, Violations: func() []reason.Reason { return nil }}
			if c.own {
				own := file
				s.File = &own
			}
			if c.set != nil {
				c.set(&s)
			}
			if s.Job.Allow.State {
				s.Violations = func() []reason.Reason { return asks }
			}
			got := Unable(&s)
			if len(got) != len(c.want) {
				t.Fatalf("%v, want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(got[i].String(), want) {
					t.Errorf("%q, want %q", got[i], want)
				}
			}
		})
	}
}
