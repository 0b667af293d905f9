package sandbox

import (
	"errors"
	"log/slog"
	"sync"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// dataflow is a run of fetch and process: once, or in a streaming job until
// nothing is left or there is a reason to stop, which is asked for between
// batches.
func (r *run) dataflow() ending {
	got, ok := r.begin()
	if ok {
		r.batch = newBatch(&r.facts.call.Config.Limits)
		got = r.batches()
		r.batch.clear(r)
		r.after(got)
	}
	// Each batch had its own commit: what it did cannot be undone by a later.
	got.late = r.overdue()
	return got
}

func (r *run) batches() ending {
	for {
		r.batch.clear(r)
		got := r.entry(abi.ExportFetch, abi.InFetch)
		switch {
		case got.err != nil || got.code != abi.ResultOK && got.code != abi.ResultSkipped:
			return got
		case got.code == abi.ResultSkipped || len(r.batch.ends) == 0:
			if got.code == abi.ResultOK && !r.overdue() {
				got.err = r.commit()
			}
			got.code = abi.ResultOK
			if r.flow.Batches == 0 {
				got.code = abi.ResultSkipped
			}
			return got
		}
		got = r.handle()
		if got.err != nil || got.code != abi.ResultOK {
			return got
		}
		if r.overdue() { // what it has set comes too late
			return got
		}
		if got.err = r.commit(); got.err != nil {
			return got
		}
		if !r.facts.call.Config.Streaming || r.why() != job.Continue || r.ctx.Err() != nil {
			return got
		}
	}
}

// part is a piece of a batch on its way through process, with the instance
// that handles it.
type part struct {
	r     *run
	share *share
	got   ending
	spare uint32 // stream of random numbers for another instance
	tried bool   // a trap was forgiven

	done, failed int64 // elements
}

// handle has the batch processed, in as many parts at once as the job wants.
// The first runs in the instance of the run.
func (r *run) handle() ending {
	r.flow.Batches++
	elements := len(r.batch.ends)
	n := min(max(r.facts.call.Config.Concurrency, 1), elements)
	parts := make([]*part, n)
	for i := range parts {
		p := &part{r: r.part(), share: r.batch.span(elements*i/n, elements*(i+1)/n), spare: r.next()}
		if i > 0 {
			p.r.stream = r.next()
		}
		parts[i] = p
	}
	r.in.lend(r, parts[0].r)

	budget := &r.c.engine.budget
	c := crew{job: r.job}
	var wg sync.WaitGroup
	budget.send(&c, n-1)
	for _, p := range parts[1:] {
		wg.Go(func() {
			defer budget.back(&c)
			defer p.r.enlist()()
			defer p.r.detach()
			if p.got.err = p.r.attach(false); p.got.err != nil {
				p.failed = int64(len(p.share.element))
				return
			}
			p.work()
		})
	}
	parts[0].work()
	budget.await(&c)
	back := r.away()
	wg.Wait()
	back()
	if in := parts[0].r.in; in != nil {
		in.lend(parts[0].r, r)
	}
	return r.merge(parts)
}

// part is a run that goes on in place of r, with r's limits less what r used.
func (r *run) part() *run {
	p := &run{
		c: r.c, soft: r.soft, journal: r.journal, resultLimit: r.resultLimit,
		job: r.job, busy: true, stream: r.stream, outside: r.outside.fork(), worker: r.worker,
	}
	own := *r.facts // what it makes when asked is its own
	p.facts = &own
	p.ctx = runContext{r.ctx, p}
	p.gauge = gauge{end: r.gauge.end, slice: r.gauge.slice}
	if limit := r.gauge.limit; limit > 0 {
		p.gauge.limit = max(limit-r.fuel, 1)
	}
	return p
}

// next is the number of another stream of random numbers.
func (r *run) next() uint32 {
	r.streams++
	return r.streams
}

// merge takes what the parts did into the run. What the first of those that
// did not end well says, in the order of the batch, is the end of the run.
func (r *run) merge(parts []*part) ending {
	got := parts[0].got
	for _, p := range parts {
		if got.err == nil && got.code == abi.ResultOK {
			got = p.got
		}
	}
	well := got.err == nil && got.code == abi.ResultOK
	var peak uint64
	for _, p := range parts {
		r.outside.join(p.r.outside, well)
		r.calls += p.r.calls
		r.spend(p.r.fuel)
		peak += p.r.peak
		r.inherit(p.r)
		r.full = r.full || p.r.full
		if p.r.starved != nil {
			r.starved = p.r.starved
		}
		if p.r.message != "" {
			r.message = p.r.message
		}
		if p.r.total != 0 {
			r.done, r.total = p.r.done, p.r.total
		}
		r.stderr.append(&p.r.stderr, r.journal.secrets)
		r.flow.Succeeded += p.done
		r.flow.Failed += p.failed
	}
	r.peak = max(r.peak, peak)
	// Each part had all the fuel that was left; together they may not use more.
	if limit := r.gauge.limit; got.err == nil && limit > 0 && r.fuel > limit {
		got.err = errFuel
	}
	return got
}

// work gives the part to process, and then once more what process wants to see
// again.
func (p *part) work() {
	p.got = p.process(p.share)
	well := p.got.err == nil && p.got.code == abi.ResultOK
	again := p.share.marked(abi.AckRetry)
	p.done, p.failed = p.share.count(well)
	if !well || len(again.element) == 0 {
		return
	}
	p.failed -= int64(len(again.element))
	p.got = p.process(again)
	done, failed := again.count(p.got.err == nil && p.got.code == abi.ResultOK)
	p.done, p.failed = p.done+done, p.failed+failed
}

// process calls the entry with a share. A trap is forgiven once: the share is
// given to a fresh instance, and what the first had done in this call is
// forgotten.
func (p *part) process(s *share) ending {
	r := p.r
	for {
		own := r.outside
		r.outside, r.share = own.fork(), s
		got := r.entry(abi.ExportProcess, abi.InProcess)
		call := r.outside
		r.outside, r.share = own, nil
		if got.err == nil || p.tried || !r.mayRepeat(got.err) {
			own.join(call, got.err == nil && got.code == abi.ResultOK)
			return got
		}
		p.tried = true
		r.journal.remark(r.ctx, slog.LevelWarn, "batch is given to another instance", slog.String("err", clip(r.traced(got.err), r.journal.line)))
		r.result, r.message, r.full, r.starved = nil, "", false, nil
		r.stderr.cause = ""
		s.wipe()
		r.detach()
		r.stream = p.spare
		if err := r.attach(true); err != nil {
			got.err = err
			return got
		}
	}
}

// mayRepeat tells a trap of the guest from an end that was meant for it.
func (r *run) mayRepeat(err error) bool {
	return !errors.Is(err, errFuel) && !errors.Is(err, errOver) && r.ctx.Err() == nil && !r.overdue()
}
