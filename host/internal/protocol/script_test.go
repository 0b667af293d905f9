package protocol_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A script in testdata plays one job: a line is a comment (#), a command, or,
// indented, what the command printed. The commands are explained
// in commands_test.go and scene_test.go; what they print is made in
// print_test.go. To accept what is printed now, run with -update and read the
// diff. Scripts in testdata/pending say what should be and is not yet; they
// run only with -script.

var (
	update = flag.Bool("update", false, "rewrite the expectations of the scripts")
	one    = flag.String("script", "", "run this file instead of testdata/*.txt")
)

const indent = "    "

func TestScripts(t *testing.T) {
	t.Parallel()
	files := []string{*one}
	if *one == "" {
		var err error
		if files, err = filepath.Glob("testdata/*.txt"); err != nil || len(files) == 0 {
			t.Fatalf("no scripts: %v", err)
		}
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, want)
			if again := replay(t, want); !bytes.Equal(got, again) {
				t.Errorf("the same script gave two results:\n%s", cmp.Diff(lines(got), lines(again)))
			}
			if bytes.Equal(got, want) {
				return
			}
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s (-want +got):\n%s", file, cmp.Diff(lines(want), lines(got)))
		})
	}
}

func lines(b []byte) []string { return strings.Split(string(b), "\n") }

// replay runs a script from the beginning and returns it with what its commands print now.
func replay(t *testing.T, script []byte) []byte {
	t.Helper()
	if !bytes.HasPrefix(script, []byte("# ")) {
		t.Fatal("a script begins with a comment that names its rule")
	}
	c := newCluster()
	var out strings.Builder
	for n, line := range lines(bytes.TrimRight(script, "\n")) {
		if strings.HasPrefix(line, indent) {
			continue
		}
		fmt.Fprintln(&out, line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := c.command(line); err != nil {
			t.Fatalf("line %d: %s: %v; so far:\n%s", n+1, line, err, out.String())
		}
		if c.stepped && len(c.printed) == 0 {
			c.say("nothing")
		}
		c.stepped = false
		for _, l := range c.printed {
			fmt.Fprintln(&out, indent+l)
		}
		c.printed = nil
	}
	if err := c.unchanged(len(c.frozen)); err != nil {
		t.Error(err)
	}
	return []byte(out.String())
}

// addressed matches a command to a named member.
var addressed = regexp.MustCompile(`^([a-z]): (.*)$`)

// command carries out one line.
func (c *cluster) command(line string) error {
	who := c.me
	if m := addressed.FindStringSubmatch(line); m != nil {
		who, line = c.members[m[1]], m[2]
		if who == nil {
			return fmt.Errorf("there is no member %s", m[1])
		}
	}
	verb, rest, _ := strings.Cut(line, " ")
	a := parse(rest)
	var err error
	if do := scene[verb]; do != nil {
		err = do(c, a)
	} else if do := inputs[verb]; do == nil {
		err = errors.New("unknown command")
	} else if who == nil {
		err = errors.New("no member was started")
	} else {
		err = do(c, who, a)
	}
	if err != nil {
		return err
	}
	return a.left()
}

// arguments of a command: words, key=value pairs, and text behind a colon.
type arguments struct {
	rest  string
	words []string
	keys  map[string]string
	text  string
}

func parse(rest string) *arguments {
	a := &arguments{rest: rest, keys: map[string]string{}}
	rest, a.text, _ = strings.Cut(rest, ": ")
	for w := range strings.FieldsSeq(rest) {
		if k, v, ok := strings.Cut(w, "="); ok && k != "" {
			a.keys[k] = v
			continue
		}
		a.words = append(a.words, w)
	}
	return a
}

// word takes the next word; "" when there is none.
func (a *arguments) word() string {
	if len(a.words) == 0 {
		return ""
	}
	w := a.words[0]
	a.words = a.words[1:]
	return w
}

// flag takes a word wherever it stands.
func (a *arguments) flag(name string) bool {
	k := slices.Index(a.words, name)
	if k >= 0 {
		a.words = slices.Delete(a.words, k, k+1)
	}
	return k >= 0
}

// all takes every word.
func (a *arguments) all() []string {
	w := a.words
	a.words = nil
	return w
}

// key takes a pair; def if it is not there.
func (a *arguments) key(name, def string) string {
	if v, ok := a.keys[name]; ok {
		delete(a.keys, name)
		return v
	}
	return def
}

// raw takes everything, as it was typed.
func (a *arguments) raw() string {
	a.words, a.keys, a.text = nil, nil, ""
	return a.rest
}

// left complains about arguments that the command did not use.
func (a *arguments) left() error {
	if len(a.words) > 0 || len(a.keys) > 0 {
		return errors.New("the command has arguments that it does not take")
	}
	return nil
}
