package overlay

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

var servers = flag.Uint64("servers", 0, "with how many seeds TestFaultyRegistry has to notice mutants; 0: they are not played")

// seenByServers are the mutants that TestFaultyRegistry of package runner notices: it
// runs loop, session and core over a simulated network. It cannot notice mutants of the
// adapter for ZooKeeper, or of what servers by themselves do not do.
var seenByServers = []string{
	"outcome: unknown is refused", "outcome: view before the sync", "clock: not looked at", "doubt: core not told",
	"line: closed before its guests end", "job session: nodes left", "rows: before the disk", "guest: told to stop begins", "health: doubt not reported", "health: half is enough", "loop: stands still",
	"outcome: nothing read again", "clock: guest does not look", "doubt: fence not told", "health: from when it is there", "health: asleep",
	"job session: does not wait", "complete: another's running mark", "complete: another's failover mark",
	"doubt: loop does not learn", "end: guests go on", "job session: unsettled", "again: replaced", "health: regained for a moment",
	"file: read while one is written", "file: half of it", "file: said before",
}

func TestServersNotice(t *testing.T) {
	all := mutants()
	for _, name := range seenByServers {
		if !slices.ContainsFunc(all, func(m mutant) bool { return m.name == name }) {
			t.Errorf("no mutant is called %q", name)
		}
	}
	if *servers == 0 || t.Failed() {
		return
	}
	o := New()
	for k, m := range all {
		if err := o.Add(k+1, m.edits); err != nil {
			t.Fatal(err)
		}
	}
	binary, err := o.Build(t.Context(), "../runner", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for k, m := range all {
		if !slices.Contains(seenByServers, m.name) {
			continue
		}
		cmd := exec.CommandContext(t.Context(), binary, "-test.run", "^TestFaultyRegistry(Mended)?$", "-test.failfast", fmt.Sprintf("-seeds=%d", *servers))
		cmd.Dir, cmd.Env = filepath.Clean("../runner"), append(os.Environ(), fmt.Sprintf("%s=%d", NumberVariable, k+1))
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("%s survived %d seeds: %s\n%s", m.name, *servers, m.promise, out)
		}
	}
}
