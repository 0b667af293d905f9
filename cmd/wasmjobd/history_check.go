package main

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/admin"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// checkedAtMost bounds the instants that a server compares in one check, to some seconds of one
// core: those of a job that runs each second for 230 days.
const checkedAtMost = 20_000_000

// histories are the histories to check: those that this program reads, and the rows of other
// servers.
type histories struct {
	in      []*sqltrace.Reader
	inForce admin.InForce       // nil: the jobs are as in the file
	others  admin.RowsElsewhere // nil: none
}

// rows returns the rows of a job in a window, those of all histories merged.
func (h histories) rows(ctx context.Context, name string, w *checkWindow) iter.Seq2[trace.Row, error] {
	var all []iter.Seq2[trace.Row, error]
	for _, r := range h.in {
		all = append(all, r.Rows(ctx, name, w.from, w.to))
	}
	if h.others == nil {
		return trace.Merge(all...)
	}
	rows := h.others(ctx, name, w.from, w.to)
	return trace.Merge(append(all, func(yield func(trace.Row, error) bool) {
		for i := range rows {
			if !yield(rows[i], nil) {
				return
			}
		}
	})...)
}

// checkJobs compares histories with the schedules that are in force, for the job of a configuration that
// want names, or for all. most bounds the instants of all jobs together.
func checkJobs(ctx context.Context, in histories, f *config.File, want admin.CheckWanted, most int64) ([]admin.Checked, error) {
	w := checkWindow{from: math.MinInt64, to: time.Now().UnixMilli(), begin: want.From != nil, end: want.To != nil, left: most}
	if w.begin {
		w.from = *want.From
	}
	if w.end {
		w.to = *want.To
	}
	jobs := slices.DeleteFunc(slices.Clone(f.Jobs), func(j job.Config) bool { return want.Job != "" && j.Name != want.Job })
	if in.inForce != nil { // replaces the settings of the file by those of the registry
		as := options(f, slog.New(slog.DiscardHandler), nil)
		as.Jobs = jobs
		jobs = in.inForce(ctx, as)
	}
	var all []admin.Checked
	for _, j := range jobs {
		r, err := checkJob(ctx, in, j, &w)
		if err != nil {
			return nil, err
		}
		all = append(all, admin.Checked{Job: j.Name, TimeZone: j.TimeZone, Report: r})
	}
	if want.Job != "" && len(all) == 0 {
		return nil, &host.Error{Code: host.NotFound, Msg: noSuchJob(f, want.Job).Error()}
	}
	return all, nil
}

// checkJob compares the rows of a job in the histories with its schedule, within a window. It ends with
// an error when the window has used up its instants.
func checkJob(ctx context.Context, all histories, j job.Config, w *checkWindow) (trace.Report, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	w.used = func() { end(tooManyInstants(j.Name)) }
	instants, err := instantsOf(ctx, j, w)
	if err != nil { // the registry's cron is invalid, so the job has no instants until that is mended
		instants = noInstants
	}
	rows := all.rows(ctx, j.Name, w)
	in := trace.CheckInput{Job: j.Name, From: w.from, To: w.to, Instants: instants, Schedule: j.Cron, Rows: rows}
	// A job that runs after others has their instants, so only its attempts are checked.
	in.Elsewhere = len(j.After) > 0
	// Rows from before a change of the cron have the former one.
	in.Of = func(schedule string) trace.Instants {
		before := j
		before.Cron = schedule
		instants, err := instantsOf(ctx, before, w)
		if err != nil {
			return nil // the job had another dialect then; its rows are not checked
		}
		return instants
	}
	for item := range j.Shards {
		in.Items = append(in.Items, item)
	}
	// Only a bound that the operator has set says up to where there must be rows.
	if w.begin {
		in.Start = func(int) int64 { return w.from }
	}
	if w.end {
		in.Open = func(int) int64 { return w.to }
	}
	report, err := trace.Check(in)
	if ctx.Err() != nil { // instantsOf ended early
		err = context.Cause(ctx)
	}
	return report, err //nolint:wrapcheck // it names the job
}

// tooManyInstants is the error of a check that has compared checkedAtMost instants.
func tooManyInstants(job string) error {
	return &host.Error{Code: host.Invalid, Msg: fmt.Sprintf("the check exceeded %d instants, at job %s; "+
		"name one job, and limit the time to check", checkedAtMost, job)}
}

// noInstants is the schedule of a job that has none.
func noInstants(int64, int64, func(int64) bool) {}

// instantsOf returns a job's schedule in the form of trace.Check. It counts the instants that it yields
// against those that the window has left.
func instantsOf(ctx context.Context, j job.Config, w *checkWindow) (trace.Instants, error) {
	if j.Cron == "" {
		return noInstants, nil
	}
	s, err := config.Compile(j)
	if err != nil {
		return nil, err
	}
	return func(after, upTo int64, yield func(int64) bool) {
		t := s.Next(time.UnixMilli(after))
		for !t.IsZero() && t.UnixMilli() <= upTo && ctx.Err() == nil && yield(t.UnixMilli()) {
			if w.left--; w.left < 0 {
				w.used()
			}
			t = s.Next(t)
		}
	}, nil
}
