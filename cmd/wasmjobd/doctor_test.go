package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// elasticJob is the script command "elasticjob FILE": it writes the nodes of the
// file, one a line, as "path | value", and holds those in its session whose line
// begins with E until the script ends, as a member of ElasticJob would.
func elasticJob(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: elasticjob file")
	}
	r, err := zk.New(zk.Options{
		Servers: []string{ts.Getenv("WASMJOBD_REGISTRY__SERVERS")}, Chroot: ts.Getenv("WASMJOBD_REGISTRY__CHROOT"), SessionTimeout: time.Minute,
	})
	ts.Check(err)
	ts.Defer(func() { _ = r.Close() }) // it returns none
	ctx, cancel := context.WithTimeout(context.Background(), scriptPatience)
	defer cancel()
	s, err := r.Open(ctx, func(registry.Event) {})
	ts.Check(err)
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		path, value, _ := strings.Cut(strings.TrimSpace(line), " | ")
		op := registry.Op{Kind: registry.Create, Path: path, Data: []byte(value)}
		if held, ok := strings.CutPrefix(path, "E "); ok {
			op.Kind, op.Path = registry.CreateEphemeral, held
		}
		_, err := s.Commit(ctx, op)
		ts.Check(err)
	}
}

// A registry that was emptied gives lower tokens than those that runs have had,
// also while the job is not there again; of one that may not be read nothing is
// known.
func TestTokensGoBackwards(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "history.db")
	f := &config.File{History: config.History{Path: at}}
	all := []operator.Checkup{{Job: "orders", Layout: "2.1", Newest: 40}, {Job: "mail", Layout: "2.1", Newest: 41}, {Job: "gone", Newest: 3}, {Job: "secret", Newest: -1}}
	if err := compareTokens(t.Context(), &terminal{}, f, all); err != nil {
		t.Fatalf("without a history: %v", err)
	}
	rows, err := sqltrace.Open(t.Context(), sqltrace.File(at))
	if err != nil {
		t.Fatal(err)
	}
	var batch []trace.Row
	for _, c := range all {
		batch = append(batch, trace.Row{Job: c.Job, Run: "1", Attempt: 1, Instant: 1, Cause: trace.Schedule, State: trace.Succeeded, Fence: 41})
	}
	if err := rows.Write(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compareTokens(t.Context(), &terminal{}, f, all); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a run with the token 41, but the registry has only reached 40", "", "has only reached 3:", ""} {
		notes := reason.Words(all[i].Notes, "\n")
		if !strings.Contains(notes, want) || (notes == "") != (want == "") {
			t.Errorf("%s: notes %q, want %q", all[i].Job, notes, want)
		}
	}
}
