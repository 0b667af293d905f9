package main

import (
	"context"
	"iter"
	"time"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

func checkJob(ctx context.Context, all []*sqltrace.Reader, j job.Config, w checkWindow) (trace.Report, error) {
	instants, err := instantsOf(ctx, j)
	if err != nil {
		return trace.Report{}, exitf(exitInvalid, "jobs.%s: %w", j.Name, err)
	}
	var rows []iter.Seq2[trace.Row, error]
	for _, r := range all {
		rows = append(rows, r.Rows(ctx, j.Name, w.from, w.to))
	}
	in := trace.CheckInput{Job: j.Name, From: w.from, To: w.to, Instants: instants, Schedule: j.Cron, Rows: trace.Merge(rows...)}
	in.Of = func(schedule string) trace.Instants {
		before := j
		before.Cron = schedule
		instants, err := instantsOf(ctx, before)
		if err != nil {
			return nil // of another dialect
		}
		return instants
	}
	for item := range j.Shards {
		in.Items = append(in.Items, item)
	}
	if w.begin {
		in.Start = func(int) int64 { return w.from }
	}
	if w.end {
		in.Open = func(int) int64 { return w.to }
	}
	report, err := trace.Check(in)
	if err == nil {
		err = ctx.Err() // instantsOf ends early then
	}
	return report, err
}

// instantsOf is a job's schedule in the form that trace.Check wants.
func instantsOf(ctx context.Context, j job.Config) (trace.Instants, error) {
	if j.Cron == "" {
		return func(int64, int64, func(int64) bool) {}, nil
	}
	s, err := config.Compile(j)
	if err != nil {
		return nil, err
	}
	return func(after, upTo int64, yield func(int64) bool) {
		t := s.Next(time.UnixMilli(after))
		for !t.IsZero() && t.UnixMilli() <= upTo && ctx.Err() == nil && yield(t.UnixMilli()) {
			t = s.Next(t)
		}
	}, nil
}
