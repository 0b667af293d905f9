package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/operator"
)

// partsCluster returns one part of a log.
type partsCluster struct {
	cluster
	text string
}

func (c partsCluster) FollowRunLog(_ context.Context, _ operator.RunName, _ operator.LogPart, report func(operator.LogPart) error) error {
	return report(operator.LogPart{Attempt: 1, Text: c.text, Ended: true})
}

func TestLogsCannotSteerATerminal(t *testing.T) {
	t.Parallel()
	const text = "+0.1s info \x1b]0;title\a\x1b[2J\u009b31m<script>\n"
	const want = `+0.1s info \x1b]0;title\x07\x1b[2J\u009b31m<script>` + "\n"
	var shown, followed strings.Builder
	printLogs(&terminal{out: &shown, err: io.Discard}, []operator.AttemptLog{{Attempt: 1, Kept: true, Log: text}}, nil)
	o := &operatorVerb{term: &terminal{out: &followed, err: io.Discard}}
	if err := o.followLog(t.Context(), partsCluster{text: text}, operator.RunName{Job: "a", Run: "1"}); err != nil {
		t.Fatal(err)
	}
	if shown.String() != want || followed.String() != want {
		t.Fatalf("shown %q, followed %q; want %q", shown.String(), followed.String(), want)
	}
}
