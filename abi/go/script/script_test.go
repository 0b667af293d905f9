package script

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

const document1 = `{"jobName":"report","taskId":"report@-@1@-@READY@-@10.0.0.1@-@7","shardingTotalCount":3,"jobParameter":"p",` +
	`"shardingItem":1,"shardingParameter":"\u003cnorth\u003e",` +
	`"wasmjob":{"runId":"report/1/1700000000000","attempt":2,"scheduledTime":1700000000000,"fence":9007199254740993,"items":{"1":"\u003cnorth\u003e","2":null}}}`

func TestPlay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args   []string
		err    error
		code   int
		stderr string
	}{
		"done":          {[]string{"m", "a", "b c", document1}, nil, 0, ""},
		"failed":        {[]string{"m", "a", "b c", document1}, errors.New("bad luck"), 1, "bad luck\n"},
		"own code":      {[]string{"m", "a", "b c", document1}, fmt.Errorf("so: %w", WithCode(3, errors.New("bad luck"))), 3, "so: bad luck\n"},
		"no such code":  {[]string{"m", "a", "b c", document1}, WithCode(256, errors.New("bad luck")), 1, "bad luck\n"},
		"no failure":    {[]string{"m", "a", "b c", document1}, WithCode(3, nil), 0, ""},
		"no context":    {[]string{"m"}, nil, 1, "there is none"},
		"another thing": {[]string{"m", "--help"}, nil, 1, "read the context"},
	} {
		var out, diag strings.Builder
		code := play(tt.args, &out, &diag, func(c Context, w io.Writer) error {
			if _, err := fmt.Fprintln(w, c.JobName, c.Item, c.Total, *c.Param, c.JobParam, c.RunID, c.Attempt, c.Scheduled.UnixMilli(), c.Fence, len(c.Items), c.Items[2] == nil, strings.Join(c.Args, "|")); err != nil {
				return err
			}
			return tt.err
		})
		want := "report 1 3 <north> p report/1/1700000000000 2 1700000000000 9007199254740993 2 true a|b c\n"
		if !strings.HasPrefix(name, "no ") && name != "another thing" && out.String() != want {
			t.Errorf("%s: result %q", name, out.String())
		}
		if code != tt.code || !strings.Contains(diag.String(), tt.stderr) || (tt.stderr == "") != (diag.Len() == 0) {
			t.Errorf("%s: code %d, %q", name, code, diag.String())
		}
	}
}

// broken refuses every write.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAResultThatIsLostIsAFailure(t *testing.T) {
	t.Parallel()
	var diag strings.Builder
	code := play([]string{"m", document1}, broken{}, &diag, func(_ Context, w io.Writer) error {
		_, err := io.WriteString(w, "x")
		return err
	})
	if code != 1 || !strings.Contains(diag.String(), io.ErrClosedPipe.Error()) {
		t.Errorf("code %d, %q", code, diag.String())
	}
}

func FuzzParse(f *testing.F) {
	f.Add(document1)
	f.Add(`{"wasmjob":{"items":{"x":1}}}`)
	f.Add("null")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse([]string{"m", text})
		if err == nil && len(c.Args) != 0 {
			t.Errorf("arguments out of nothing: %q", c.Args)
		}
	})
}
