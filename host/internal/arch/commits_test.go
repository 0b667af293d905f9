package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A message that .ci/commits accepts.
const (
	goodSubject = "zk: keep a path followed when another call for it fails"
	goodBody    = "The second call took the first one's place, and its end ended both.\n\nTestTwoCallsFollowOnePath fails without it."
)

// TestCommitMessages checks what .ci/commits refuses, and that it reports if it cannot
// check.
func TestCommitMessages(t *testing.T) {
	t.Parallel()
	long := "zk: " + strings.Repeat("x", 76)
	for _, c := range []struct{ name, message, refused string }{
		{"as it should be", goodSubject + "\n\n" + goodBody, ""},
		{"two packages", "host, cmd/wasmjobd: read go.mod once\n\n" + goodBody, ""},
		{"at the limit", long + "\n\n" + goodBody, ""},
		{"no package", "keep a path followed\n\n" + goodBody, `reads "package: what it does"`},
		{"upper case", "zk: Keep a path followed\n\n" + goodBody, `reads "package: what it does"`},
		{"full stop", goodSubject + ".\n\n" + goodBody, `reads "package: what it does"`},
		{"nothing after the package", "status\n\n" + goodBody, `reads "package: what it does"`},
		{"too long", long + "x\n\n" + goodBody, "has 81 characters"},
		{"no blank line", goodSubject + "\n" + goodBody, "a blank line ends it"},
		{"two ideas", "zk: keep a path; mutants\n\n" + goodBody, "two ideas"},
		{"no body", goodSubject, "the body has 0 words"},
		{"hardly a body", goodSubject + "\n\nTests pass.", "the body has 2 words"},
		{"trailers alone", goodSubject + "\n\nFixes #12\nReviewed-by: A Colleague With Many Given Names And Two Family Names <a@example.com>", "the body has 0 words"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			first := r.commit("first")
			r.commit(c.message, first)
			r.check(first, c.refused)
		})
	}
}

func TestCommitHistories(t *testing.T) {
	t.Parallel()
	t.Run("merge", func(t *testing.T) {
		t.Parallel()
		r := newRepository(t)
		first := r.commit("first")
		good := r.commit(goodSubject+"\n\n"+goodBody, first)
		r.commit(goodSubject+" again\n\n"+goodBody, first, good)
		r.check(first, "a merge")
	})
	t.Run("one of several", func(t *testing.T) {
		t.Parallel()
		r := newRepository(t)
		first := r.commit("first")
		bad := r.commit("bad", first)
		r.commit(goodSubject+"\n\n"+goodBody, bad)
		r.check(first, "faults in 2 messages")
		r.check(bad, "")
	})
	t.Run("shallow", func(t *testing.T) {
		t.Parallel()
		r := newRepository(t)
		first := r.commit("first")
		r.commit("bad", first)
		shallow := repository{t: t, dir: filepath.Join(t.TempDir(), "clone")}
		r.git("branch", "here")
		r.git("clone", "--quiet", "--depth=1", "--branch=here", "file://"+r.dir, shallow.dir)
		shallow.unchecked(first, "this clone is shallow")
	})
	t.Run("another history", func(t *testing.T) {
		t.Parallel()
		r := newRepository(t)
		r.commit("all of a project at once")
		r.unchecked(strings.Repeat("1", 40), "is not in the history of this tree")
	})
	t.Run("exported tree", func(t *testing.T) {
		t.Parallel()
		repository{t: t, dir: t.TempDir()}.unchecked(strings.Repeat("1", 40), "there is no history of git here")
	})
}

// repository is a git repository in its own directory.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{t: t, dir: t.TempDir()}
	r.git("init", "--quiet")
	return r
}

// commit creates an empty commit, makes it HEAD, and returns its id.
func (r repository) commit(message string, parents ...string) string {
	r.t.Helper()
	args := []string{"commit-tree", r.git("mktree"), "-m", message}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	id := r.git(args...)
	r.git("update-ref", "--no-deref", "HEAD", id)
	return id
}

func (r repository) git(args ...string) string {
	r.t.Helper()
	out, err := r.command("git", args...).Output()
	if err != nil {
		r.t.Fatalf("git %q: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// command returns a command that is independent of the user and the surrounding
// repository.
func (r repository) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(r.t.Context(), name, args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES="+filepath.Dir(r.dir),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	return cmd
}

// check checks the commits after first. refused is the expected complaint; empty if there
// is none.
func (r repository) check(first, refused string) {
	r.t.Helper()
	out, err := r.run(first)
	switch {
	case refused == "" && (err != nil || !strings.Contains(out, "as they should be")):
		r.t.Errorf("it was refused: %v\n%s", err, out)
	case refused != "" && (err == nil || !strings.Contains(out, refused)):
		r.t.Errorf("it was not refused with %q: %v\n%s", refused, err, out)
	}
}

func (r repository) unchecked(first, why string) {
	r.t.Helper()
	if out, err := r.run(first); err != nil || !strings.Contains(out, why) || !strings.Contains(out, "no message was checked") {
		r.t.Errorf("it did not say %q: %v\n%s", why, err, out)
	}
}

func (r repository) run(first string) (string, error) {
	r.t.Helper()
	out, err := r.command("bash", filepath.Join(tree(r.t).root, ".ci", "commits"), first).CombinedOutput()
	return string(out), err
}
