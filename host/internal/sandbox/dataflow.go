package sandbox

import (
	"errors"
	"log/slog"
	"sync"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// runDataflow is a run of fetch and process: once, or in a streaming job until
// nothing is left or there is a reason to stop, which is asked for between
// batches.
func (r *run) runDataflow() callResult {
	res, ok := r.beginAttempt()
	if ok {
		r.batch = newBatch(&r.facts.call.Config.Limits)
		res = r.runBatches()
		r.batch.release(r)
		r.callAfterListener(res)
	}
	// Each batch had its own commit: what it did cannot be undone by a later.
	res.late = r.overdue()
	return res
}

func (r *run) runBatches() callResult {
	for {
		r.batch.release(r)
		res := r.callEntry(abi.ExportFetch, abi.InFetch)
		switch {
		case res.err != nil || res.code != abi.ResultOK && res.code != abi.ResultSkipped:
			return res
		case res.code == abi.ResultSkipped || len(r.batch.ends) == 0:
			if res.code == abi.ResultOK && !r.overdue() {
				res.err = r.commit()
			}
			res.code = abi.ResultOK
			if r.flow.Batches == 0 {
				res.code = abi.ResultSkipped
			}
			return res
		}
		res = r.processBatch()
		if res.err != nil || res.code != abi.ResultOK {
			return res
		}
		if r.overdue() { // what it has set comes too late
			return res
		}
		if res.err = r.commit(); res.err != nil {
			return res
		}
		if !r.facts.call.Config.Streaming || r.stopReason() != job.Continue || r.ctx.Err() != nil {
			return res
		}
	}
}

// subtask is a piece of a batch on its way through process, with the instance
// that handles it.
type subtask struct {
	r           *run
	share       *subset
	result      callResult
	spareStream uint32 // stream of random numbers for another instance
	retried     bool   // a trap was forgiven

	done, failed int64 // elements
}

// processBatch has the batch processed, in as many parts at once as the job wants.
// The first runs in the instance of the run.
func (r *run) processBatch() callResult {
	r.flow.Batches++
	elements := len(r.batch.ends)
	n := min(max(r.facts.call.Config.Concurrency, 1), elements)
	parts := make([]*subtask, n)
	for i := range parts {
		p := &subtask{r: r.newSubtaskRun(), share: r.batch.subset(elements*i/n, elements*(i+1)/n), spareStream: r.nextStream()}
		if i > 0 {
			p.r.stream = r.nextStream()
		}
		parts[i] = p
	}
	r.in.handOver(r, parts[0].r)

	budget := &r.c.engine.budget
	c := subtasks{job: r.job}
	var wg sync.WaitGroup
	budget.startSubtasks(&c, n-1)
	for _, p := range parts[1:] {
		wg.Go(func() {
			defer budget.endSubtask(&c)
			defer p.r.acquireWorker()()
			defer p.r.detach()
			if p.result.err = p.r.attach(false); p.result.err != nil {
				p.failed = int64(len(p.share.indexes))
				return
			}
			p.runSubset()
		})
	}
	parts[0].runSubset()
	budget.awaitSubtasks(&c)
	back := r.releaseWorker()
	wg.Wait()
	back()
	if in := parts[0].r.in; in != nil {
		in.handOver(parts[0].r, r)
	}
	return r.mergeSubtasks(parts)
}

// newSubtaskRun is a run that goes on in place of r, with r's limits less what r used.
func (r *run) newSubtaskRun() *run {
	p := &run{
		c: r.c, deadline: r.deadline, log: r.log, resultLimit: r.resultLimit,
		job: r.job, busy: true, stream: r.stream, state: r.state.fork(), worker: r.worker,
	}
	own := *r.facts // what it makes when asked is its own
	p.facts = &own
	p.ctx = runContext{r.ctx, p}
	p.fuelGauge = fuelGauge{end: r.fuelGauge.end, slice: r.fuelGauge.slice}
	if limit := r.fuelGauge.limit; limit > 0 {
		p.fuelGauge.limit = max(limit-r.fuel, 1)
	}
	return p
}

// nextStream is the number of another stream of random numbers.
func (r *run) nextStream() uint32 {
	r.streams++
	return r.streams
}

// mergeSubtasks takes what the parts did into the run. What the first of those that
// did not end well says, in the order of the batch, is the end of the run.
func (r *run) mergeSubtasks(parts []*subtask) callResult {
	res := parts[0].result
	for _, p := range parts {
		if res.err == nil && res.code == abi.ResultOK {
			res = p.result
		}
	}
	well := res.err == nil && res.code == abi.ResultOK
	var peak uint64
	for _, p := range parts {
		r.state.join(p.r.state, well)
		r.calls += p.r.calls
		r.addFuel(p.r.fuel)
		peak += p.r.peak
		r.adoptMemory(p.r)
		r.memoryLimitReached = r.memoryLimitReached || p.r.memoryLimitReached
		if p.r.memoryErr != nil {
			r.memoryErr = p.r.memoryErr
		}
		if p.r.message != "" {
			r.message = p.r.message
		}
		if p.r.total != 0 {
			r.done, r.total = p.r.done, p.r.total
		}
		r.stderr.append(&p.r.stderr, r.log.secrets)
		r.flow.Succeeded += p.done
		r.flow.Failed += p.failed
	}
	r.peak = max(r.peak, peak)
	// Each part had all the fuel that was left; together they may not use more.
	if limit := r.fuelGauge.limit; res.err == nil && limit > 0 && r.fuel > limit {
		res.err = errFuel
	}
	return res
}

// runSubset gives the part to process, and then once more what process wants to see
// again.
func (p *subtask) runSubset() {
	p.result = p.process(p.share)
	well := p.result.err == nil && p.result.code == abi.ResultOK
	again := p.share.withMark(abi.AckRetry)
	p.done, p.failed = p.share.countMarks(well)
	if !well || len(again.indexes) == 0 {
		return
	}
	p.failed -= int64(len(again.indexes))
	p.result = p.process(again)
	done, failed := again.countMarks(p.result.err == nil && p.result.code == abi.ResultOK)
	p.done, p.failed = p.done+done, p.failed+failed
}

// process calls the entry with a share. A trap is forgiven once: the share is
// given to a fresh instance, and what the first had done in this call is
// forgotten.
func (p *subtask) process(s *subset) callResult {
	r := p.r
	for {
		own := r.state
		r.state, r.subset = own.fork(), s
		res := r.callEntry(abi.ExportProcess, abi.InProcess)
		call := r.state
		r.state, r.subset = own, nil
		if res.err == nil || p.retried || !r.mayRepeat(res.err) {
			own.join(call, res.err == nil && res.code == abi.ResultOK)
			return res
		}
		p.retried = true
		r.log.logLimited(r.ctx, slog.LevelWarn, "batch is given to another instance", slog.String("err", clip(r.explainTrapWithStack(res.err), r.log.line)))
		r.result, r.message, r.memoryLimitReached, r.memoryErr = nil, "", false, nil
		r.stderr.cause = ""
		s.resetMarks()
		r.detach()
		r.stream = p.spareStream
		if err := r.attach(true); err != nil {
			res.err = err
			return res
		}
	}
}

// mayRepeat tells a trap of the guest from an end that was meant for it.
func (r *run) mayRepeat(err error) bool {
	return !errors.Is(err, errFuel) && !errors.Is(err, errRunEnded) && r.ctx.Err() == nil && !r.overdue()
}
