package main

import (
	"context"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
)

// elasticJob implements the script command "elasticjob FILE": it writes the nodes in the file,
// one per line, as "path | value". Like a member of ElasticJob, its session holds the nodes
// whose line begins with E until the script ends.
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
