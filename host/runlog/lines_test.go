package runlog

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLogOfAnAttemptIsBounded(t *testing.T) {
	t.Parallel()
	log, lines := (&Logs{}).Begin(slog.New(slog.DiscardHandler), "j/0/1", 1)
	on := slog.New(all{log.Handler()})
	if lines.Kept() != "" {
		t.Errorf("nothing was logged, kept is %q", lines.Kept())
	}
	on.Info("first")
	if got := lines.Kept(); !strings.HasSuffix(got, "s info first\n") || strings.Contains(got, cutLog) {
		t.Errorf("kept is %q", got)
	}
	for n := range 2_000 {
		on.Info(fmt.Sprintf("line %d\nof two", n)) //nolint:sloglint // as guests do
	}
	on.Info(strings.Repeat("é", keptLine)) //nolint:sloglint // as guests do
	got := lines.Kept()
	if len(got) > keptLog || len(got) < keptLog/2 || !utf8.ValidString(got) {
		t.Errorf("%d bytes are kept", len(got))
	}
	if !strings.HasPrefix(got, cutLog+"+") || !strings.Contains(got, `line 1999\nof two`+"\n") || !strings.HasSuffix(got, "é…\n") {
		t.Errorf("kept is %q", got)
	}
	if lines.Kept() != got {
		t.Error("to look at it changes it")
	}
}

// all lets every line through.
type all struct{ slog.Handler }

func (all) Enabled(context.Context, slog.Level) bool { return true }

// What was logged before somebody asks, and what comes later, is told once, and what is
// not kept any more is told as a gap.
func TestAfter(t *testing.T) {
	t.Parallel()
	logs := &Logs{}
	log, lines := logs.Begin(slog.New(slog.DiscardHandler), "j/0/1", 1)
	log = slog.New(all{log.Handler()})
	say := func(text string) { log.Info(text) } //nolint:sloglint // as guests do
	say("one")
	part := lines.After(0)
	if !strings.HasSuffix(part.Text, " info one\n") || part.Gap || part.Ended {
		t.Errorf("the first part is %+v", part)
	}
	select {
	case <-part.More:
		t.Error("there is nothing more")
	default:
	}
	say("two")
	<-part.More
	part = lines.After(part.Next)
	if strings.Contains(part.Text, "one") || !strings.HasSuffix(part.Text, " info two\n") {
		t.Errorf("the second part is %+v", part)
	}
	for range 100 {
		say(strings.Repeat("x", keptLine/2))
	}
	if part = lines.After(part.Next); !part.Gap || len(part.Text) > 2*keptLog {
		t.Errorf("a gap of %d bytes: %v", len(part.Text), part.Gap)
	}
	if again := lines.After(part.Next); again.Gap || again.Text != "" {
		t.Errorf("nothing is new: %+v", again)
	}
	if ahead := lines.After(part.Next + 7); !ahead.Gap || ahead.Text != "" || ahead.Next != part.Next {
		t.Errorf("of what was never written: %+v", ahead)
	}
	next := lines.After(part.Next)
	logs.End(lines)
	<-next.More
	say("late")
	if last := lines.After(part.Next); !last.Ended || last.Text != "" {
		t.Errorf("after the end comes %+v", last)
	}
}

// The newest attempt of a run is found also after its end, until it is one of too many.
func TestEndedRunsAreForgotten(t *testing.T) {
	t.Parallel()
	logs, off := &Logs{}, slog.New(slog.DiscardHandler)
	if (*Logs)(nil).Of("j/0/1") != nil || logs.Of("j/0/1") != nil {
		t.Error("what nobody began is there")
	}
	_, first := logs.Begin(off, "j/0/1", 1)
	logs.End(first)
	_, second := logs.Begin(off, "j/0/1", 2)
	for i := range maxEnded + 5 {
		_, one := logs.Begin(off, fmt.Sprintf("j/1/%d", i), 1)
		logs.End(one)
	}
	if logs.Of("j/0/1") != second || logs.Of("j/0/1").Attempt() != 2 {
		t.Error("an attempt that runs was forgotten with the one before it")
	}
	if logs.Of("j/1/0") != nil || logs.Of("j/1/5") == nil || len(logs.of) != maxEnded+1 {
		t.Errorf("%d runs are remembered", len(logs.of))
	}
	for i := range 2 * maxEndedBytes / keptLog {
		log, one := logs.Begin(off, fmt.Sprintf("j/2/%d", i), 1)
		for range 10 {
			slog.New(all{log.Handler()}).Info(strings.Repeat("x", keptLine-100)) //nolint:sloglint // as guests do
		}
		logs.End(one)
	}
	if logs.bytes > maxEndedBytes || len(logs.of) > maxEndedBytes/keptLine {
		t.Errorf("%d bytes of %d runs are remembered", logs.bytes, len(logs.of))
	}
}
