package recorded

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"slices"
	"testing"
)

// TestCopies: if a variable names another folder, it has the same files as the repository.
func TestCopies(t *testing.T) {
	t.Parallel()
	for env, folder := range kept {
		if os.Getenv(env) == "" {
			continue
		}
		ours, theirs := contents(t, os.DirFS(Root(t)+"/"+folder)), contents(t, os.DirFS(dir(t, env)))
		for _, fault := range differences(ours, theirs) {
			t.Errorf("$%s, %s: %s; copy what is right to the other", env, folder, fault)
		}
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	ours := map[string][]byte{"same": []byte("1"), "other": []byte("1"), "here": nil}
	theirs := map[string][]byte{"same": []byte("1"), "other": []byte("2"), "there": nil}
	want := []string{"here is only in the repository", "other differs", "there is not in the repository"}
	if got := differences(ours, theirs); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func differences(ours, theirs map[string][]byte) []string {
	all := maps.Clone(ours)
	maps.Copy(all, theirs)
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, here := ours[name]
		b, there := theirs[name]
		switch {
		case !there:
			faults = append(faults, name+" is only in the repository")
		case !here:
			faults = append(faults, name+" is not in the repository")
		case !bytes.Equal(a, b):
			faults = append(faults, name+" differs")
		}
	}
	return faults
}

// contents returns the files of a folder without the README, which each folder has for itself.
func contents(t *testing.T, folder fs.FS) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "README.md" {
			return err
		}
		all[name], err = fs.ReadFile(folder, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
