package module

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// kept stores modules and makes them a week old.
func kept(t *testing.T, s *Store, texts ...string) {
	t.Helper()
	old := time.Now().Add(-7 * 24 * time.Hour)
	for _, text := range texts {
		digest, err := s.Put(strings.NewReader(text), nil, MaxSize)
		if err == nil {
			err = os.Chtimes(s.path(digest), old, old)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// using returns the modules in use, one answer for each call.
func using(answers ...[]string) Used {
	return func() (map[string]bool, error) {
		used := map[string]bool{}
		for _, text := range answers[0] {
			used[Digest([]byte(text))] = true
		}
		if len(answers) > 1 {
			answers = answers[1:]
		}
		return used, nil
	}
}

func wantHeld(t *testing.T, s *Store, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := s.Get(Digest([]byte(text))); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil || len(entries) != len(texts) {
		t.Errorf("%d files, want %d: %v, %v", len(entries), len(texts), entries, err)
	}
}

func TestPruneRemovesWhatNobodyNeeds(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	kept(t, s, "used", "free", "named meanwhile")
	if _, err := s.Put(strings.NewReader("new"), nil, MaxSize); err != nil {
		t.Fatal(err)
	}
	yesterday := time.Now().Add(-24 * time.Hour)
	used := using([]string{"used"}, []string{"used", "named meanwhile"})
	gone, err := s.Prune(yesterday, used)
	if err != nil || len(gone) != 1 || gone[0].Digest != Digest([]byte("free")) || gone[0].Size != 4 {
		t.Errorf("%+v, %v", gone, err)
	}
	wantHeld(t, s, "used", "new", "named meanwhile")
}

// If the modules in use cannot be determined, at whatever stage, all are kept.
func TestPruneKeepsAllIfUsesAreNotKnown(t *testing.T) {
	t.Parallel()
	unknown := errors.New("the registry is away")
	for from := range 2 {
		s, err := Open(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		kept(t, s, "free")
		asked := 0
		gone, err := s.Prune(time.Now(), func() (map[string]bool, error) {
			if asked++; asked > from {
				return nil, unknown
			}
			return nil, nil //nolint:nilnil // nothing is used
		})
		if !errors.Is(err, unknown) || len(gone) > 0 {
			t.Errorf("%+v, %v", gone, err)
		}
		wantHeld(t, s, "free")
	}
}

// A module that is uploaded during a prune stays, whenever the upload happens.
func TestPruneKeepsAnUpload(t *testing.T) {
	t.Parallel()
	for at := range 2 {
		s, err := Open(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		kept(t, s, "free")
		asked := 0
		_, err = s.Prune(time.Now().Add(-time.Hour), func() (map[string]bool, error) {
			if asked++; asked == at+1 {
				if _, err := s.Put(strings.NewReader("free"), nil, MaxSize); err != nil {
					return nil, err
				}
			}
			return nil, nil //nolint:nilnil // nothing is used
		})
		if err != nil {
			t.Fatal(err)
		}
		wantHeld(t, s, "free")
	}
}

// Acknowledged uploads survive any number of concurrent prunes.
func TestPruneRacesWithUploads(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		kept(t, s, "free")
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				if _, err := s.Prune(time.Now().Add(-time.Hour), using(nil)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			if _, err := s.Put(strings.NewReader("free"), nil, MaxSize); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
		wantHeld(t, s, "free")
		if t.Failed() {
			return
		}
	}
}

// Modules that a killed prune had set aside are back at the next start.
func TestOpenGivesBackWhatWasSetAside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept(t, s, "free")
	left := filepath.Join(dir, aside+"1")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	name := Digest([]byte("free")) + suffix
	if err := os.Rename(filepath.Join(dir, name), filepath.Join(left, name)); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, nil); err != nil {
		t.Fatal(err)
	}
	wantHeld(t, s, "free")
}

// The record of an artifact is removed with its module, and a damaged record counts as
// none.
func TestPruneForgetsArtifacts(t *testing.T) {
	t.Parallel()
	s := open(t)
	manifest := "sha256:" + strings.Repeat("0a", 32)
	gone, kept := put(t, s, "gone"), put(t, s, "kept")
	for m, digest := range map[string]string{manifest: gone, strings.Repeat("0b", 32): kept} {
		if err := s.Remember(m, digest); err != nil || s.Remembered(m) != digest {
			t.Errorf("%s holds %q, %v", m, s.Remembered(m), err)
		}
	}
	if _, err := s.Prune(time.Now().Add(time.Hour), func() (map[string]bool, error) { return map[string]bool{kept: true}, nil }); err != nil {
		t.Fatal(err)
	}
	if s.Remembered(manifest) != "" || s.Remembered(strings.Repeat("0b", 32)) != kept {
		t.Error("another note is kept than that of the module that is left")
	}
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) != 2 {
		t.Errorf("on the disk are %v, %v", entries, err)
	}
	if err := os.WriteFile(s.artifactPath(strings.Repeat("0b", 32)), []byte("../../x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{strings.Repeat("0b", 32), "../x", ""} {
		if got := s.Remembered(m); got != "" {
			t.Errorf("%q holds %q", m, got)
		}
	}
	if err := s.Remember("sha256:x", kept); err == nil {
		t.Error("an artifact without a digest is remembered")
	}
}
