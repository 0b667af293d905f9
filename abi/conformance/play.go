package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// answerTime is added to the time limit of a request's run.
const answerTime = time.Minute

// Case is one request with the requirements on its answer.
type Case struct {
	Name string
	// Rule is the heading of ABI.md or GUEST.md that requires this.
	Rule    string
	Request Request
	Want    Want
}

// Want lists the requirements on an answer. Absent ones allow anything.
type Want struct {
	Refused []string // the module is refused, and the reason contains each of these
	Verdict []string // one of these
	Code    *int32
	Result  *string
	Reason  []string // parts of it
	Lines   []string // of the log, "level text", in this order; others may come between
	Values  map[string]string
	Metrics map[string]float64
	Flow    *Flow
	Owners  []int
	// Requests are the requests sent, "METHOD URL", in this order.
	Requests []string
	// Check makes checks that the fields above cannot express.
	Check func(Answer) error
}

// Verdict is the outcome of a case. Err is nil if it passed, and otherwise lists all
// differences, one per line.
type Verdict struct {
	Case   Case
	Answer Answer
	Took   time.Duration
	Err    error
}

// Play runs cases on a host.
func Play(ctx context.Context, h Host, cases []Case) []Verdict {
	verdicts := make([]Verdict, 0, len(cases))
	for _, c := range cases {
		verdicts = append(verdicts, playOne(ctx, h, c))
	}
	return verdicts
}

// playOne plays one case. The host has a minute more than the run may take.
func playOne(ctx context.Context, h Host, c Case) (v Verdict) {
	began := time.Now()
	limits := c.Request.Limits
	ctx, cancel := context.WithTimeout(ctx, answerTime+time.Duration(limits.Timeout+limits.Grace)*time.Millisecond)
	defer cancel()
	a, err := h.Do(ctx, c.Request)
	if err == nil {
		err = c.Want.check(a)
	}
	return Verdict{c, a, time.Since(began), err}
}

// check returns everything that an answer fails to meet.
func (w Want) check(a Answer) error {
	var wrong []error
	differs := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if (w.Refused != nil) != (a.Refused != "") {
		return fmt.Errorf("refused: %q", a.Refused)
	}
	for _, part := range w.Refused {
		if !strings.Contains(a.Refused, part) {
			differs("refused for %q, which does not tell of %q", a.Refused, part)
		}
	}
	if w.Verdict != nil && !slices.Contains(w.Verdict, a.Verdict) {
		differs("the run is %s (code %d, %q), wanted %s", a.Verdict, a.Code, a.Reason, strings.Join(w.Verdict, " or "))
	}
	if w.Code != nil && a.Code != *w.Code {
		differs("the code is %d, wanted %d", a.Code, *w.Code)
	}
	if w.Result != nil && !bytes.Equal(a.Result, []byte(*w.Result)) {
		differs("the result is %.200q, wanted %.200q", a.Result, *w.Result)
	}
	for _, part := range w.Reason {
		if !strings.Contains(a.Reason, part) {
			differs("the reason %q does not tell of %q", a.Reason, part)
		}
	}
	w.effects(a, differs)
	if err := inOrder(a.Logs, w.Lines); err != nil {
		wrong = append(wrong, err)
	}
	if w.Check != nil {
		wrong = append(wrong, w.Check(a))
	}
	return errors.Join(wrong...)
}

// effects compares the effects of the run other than its result.
func (w Want) effects(a Answer, differs func(format string, args ...any)) {
	if w.Values != nil && !maps.Equal(a.Values, w.Values) {
		differs("the state is %s, wanted %s", inline(a.Values, strconv.Quote), inline(w.Values, strconv.Quote))
	}
	if w.Metrics != nil && !maps.Equal(a.Metrics, w.Metrics) {
		differs("the metrics are %s, wanted %s", inline(a.Metrics, number), inline(w.Metrics, number))
	}
	if w.Flow != nil && a.Flow != *w.Flow {
		differs("counted %s, wanted %s", a.Flow.text(), w.Flow.text())
	}
	if w.Owners != nil && !slices.Equal(a.Owners, w.Owners) {
		differs("dealt %v, wanted %v", a.Owners, w.Owners)
	}
	if w.Requests != nil && !slices.Equal(a.Requests, w.Requests) {
		differs("sent %s, wanted %s", quoted(a.Requests), quoted(w.Requests))
	}
}

// inOrder checks that the log has the wanted lines, in their order; others may come
// between.
func inOrder(logs []Line, wanted []string) error {
	rest := wanted
	lines := make([]string, len(logs))
	for i, l := range logs {
		lines[i] = l.Level + " " + l.Text
		if len(rest) > 0 && lines[i] == rest[0] {
			rest = rest[1:]
		}
	}
	if len(rest) > 0 {
		return fmt.Errorf("the log has no line %q at its place: %.500s", rest[0], quoted(lines))
	}
	return nil
}
