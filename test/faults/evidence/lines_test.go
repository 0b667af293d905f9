package evidence_test

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/wasmjob/wasmjob/test/faults/evidence"
)

const good = "start j/0/1000 1 5 10.0.0.1@-@1 1000\n"

func TestRead(t *testing.T) {
	t.Parallel()
	lines, err := evidence.Read(strings.NewReader(good + "element j/3/1000 2 5 10.0.0.1@-@1 1000 7\nbeat j/0/1000 1 5 10"))
	if err != nil || len(lines) != 2 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	l := lines[1]
	if l.Word != "element" || l.Job != "j" || l.Item != 3 || l.Run != "1000" || l.Instant != 1000 || l.Attempt != 2 || l.Token != 5 || l.At != 1000 || l.Element != 7 {
		t.Errorf("read %+v", l)
	}
	lines, err = evidence.Read(strings.NewReader("start j/0/t7/1 1 5 10.0.0.1@-@1 1000\n"))
	if err != nil || len(lines) != 1 || lines[0].Run != "t7/1" || lines[0].Instant != 0 {
		t.Errorf("a trigger is read as %+v, %v", lines, err)
	}
	if _, err := evidence.Read(iotest.ErrReader(errors.New("torn"))); err == nil {
		t.Error("an error of the file was not noticed")
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"empty":          "\n",
		"a word":         "begin j/0/1000 1 5 s 1000\n",
		"too few":        "start j/0/1000 1 5 s\n",
		"too many":       "start j/0/1000 1 5 s 1000 1\n",
		"no element":     "element j/0/1000 1 5 s 1000\n",
		"no run":         "start j/0 1 5 s 1000\n",
		"no number":      "start j/x/1000 1 5 s 1000\n",
		"no instant":     "start j/0/1x 1 5 s 1000\n",
		"no id":          "start j/0/ 1 5 s 1000\n",
		"negative":       "start j/0/1000 1 -5 s 1000\n",
		"nameless":       "start /0/1000 1 5 s 1000\n",
		"too large":      "start j/0/1000 1 99999999999999999999 s 1000\n",
		"between others": good + "torn\n" + good,
	} {
		if lines, err := evidence.Read(strings.NewReader(line)); err == nil {
			t.Errorf("%s: read as %+v", name, lines)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(good)
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := evidence.Read(strings.NewReader(text))
		if err == nil && len(lines) > strings.Count(text, "\n") {
			t.Errorf("%d lines of %q", len(lines), text)
		}
	})
}
