package operator

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
)

// aged stores modules in a data directory as if that had been two days ago, and returns
// their digests.
func aged(t *testing.T, dir string, texts ...string) (digests []string) {
	t.Helper()
	for _, text := range texts {
		path := filepath.Join(t.TempDir(), "module")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		digest := digestOf(t, path)
		keep(t, dir, digest, text)
		digests = append(digests, digest)
		old := time.Now().Add(-2 * unusedFor)
		if err := os.Chtimes(filepath.Join(dir, "modules", digest+".wasm"), old, old); err != nil {
			t.Fatal(err)
		}
	}
	return digests
}

// keep stores a module on the disk of a server.
func keep(t *testing.T, dir, digest, text string) {
	t.Helper()
	m, err := host.ReceiveModule(dir, strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Keep(digest, nil), m.Close()); err != nil {
		t.Fatal(err)
	}
}

func pruneIn(dir string) Prune {
	return Prune{Remove: func(before time.Time, dry bool, used func() (map[string]bool, error)) ([]host.HeldModule, error) {
		return host.PruneModules(dir, before, dry, used)
	}}
}

func wantKept(t *testing.T, dir string, want ...string) {
	t.Helper()
	held, err := host.HeldModules(dir)
	var got []string
	for _, h := range held {
		got = append(got, h.Digest)
	}
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// A prune removes the modules that no job of the cluster names, and a dry run lists them.
func TestPruneModules(t *testing.T) {
	t.Parallel()
	op, _ := using(t)
	dir := t.TempDir()
	old := aged(t, dir, "next", "unused")
	if err := op.NextModule(t.Context(), "b", ModuleRef{Digest: old[0]}); err != nil {
		t.Fatal(err)
	}
	dry := pruneIn(dir)
	dry.DryRun = true
	for _, p := range []Prune{dry, pruneIn(dir)} {
		wantKept(t, dir, old...)
		r, err := op.PruneModules(t.Context(), p)
		if err != nil || len(r.Removed) != 1 || r.Removed[0].Digest != old[1] || r.Bytes != int64(len("unused")) || r.DryRun != p.DryRun {
			t.Errorf("%+v, %v", r, err)
		}
	}
	wantKept(t, dir, old[0])
	rows, err := op.Audit(t.Context(), AuditFilter{Verb: "module prune"})
	if err != nil || len(rows) != 1 || rows[0].Detail != "removed=1 bytes=6" {
		t.Errorf("%+v, %v", rows, err)
	}
}

// A module that a job names after the first read is kept.
func TestPruneGivesBackWhatIsNamed(t *testing.T) {
	t.Parallel()
	op, _ := using(t)
	dir := t.TempDir()
	digest := aged(t, dir, "named")[0]
	p := pruneIn(dir)
	remove, looked := p.Remove, false
	p.Remove = func(before time.Time, dry bool, used func() (map[string]bool, error)) ([]host.HeldModule, error) {
		return remove(before, dry, func() (map[string]bool, error) {
			now, err := used()
			if !looked && err == nil {
				looked = true
				err = op.NextModule(t.Context(), "b", ModuleRef{Digest: digest})
			}
			return now, err
		})
	}
	if r, err := op.PruneModules(t.Context(), p); err != nil || len(r.Removed) > 0 || !looked {
		t.Errorf("%+v, %v", r, err)
	}
	wantKept(t, dir, digest)
}

// If it is not known which modules jobs use, none is removed.
func TestPruneNeedsToKnowAllUses(t *testing.T) {
	t.Parallel()
	op, _ := using(t)
	dir := t.TempDir()
	digest := aged(t, dir, "unused")[0]
	spoil(t, op, "a")
	_, err := op.PruneModules(t.Context(), pruneIn(dir))
	wantCode(t, "a job that cannot be read", err, host.Refused)
	if !strings.Contains(err.Error(), "cannot be read: a;") {
		t.Error(err)
	}
	elsewhere := newOperator("elsewhere")
	elsewhere.session = op.session
	_, err = elsewhere.PruneModules(t.Context(), pruneIn(dir))
	wantCode(t, "a namespace that is not there", err, host.NotFound)
	_, err = op.PruneModules(t.Context(), Prune{})
	wantCode(t, "a server without modules", err, host.Refused)
	wantKept(t, dir, digest)
}
