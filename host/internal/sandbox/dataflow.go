package sandbox

import (
	"cmp"
	"errors"
	"log/slog"
	"sync"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// runDataflow runs fetch and process once. A streaming job repeats them until fetch
// finds no elements or there is a reason to stop, which is checked between batches.
func (r *run) runDataflow() callResult {
	res, ok := r.beginAttempt()
	if ok {
		r.batch = newBatch(&r.facts.call.Config.Limits)
		res = r.runBatches()
		r.batch.release(r)
		r.callAfterListener(res)
	}
	return r.finish(res) // each batch was committed by itself, so lateness does not undo earlier ones
}

// runBatches fetches and processes batches. The state is saved after each batch, so that a
// later failure does not undo it.
func (r *run) runBatches() callResult {
	for {
		r.batch.release(r)
		res := r.fetch()
		switch {
		case res.err != nil || res.code != abi.ResultOK && res.code != abi.ResultSkipped:
			return res
		case res.code == abi.ResultSkipped || len(r.batch.ends) == 0: // nothing is left to do
			if res.code == abi.ResultOK && !r.overdue() {
				res.err = r.commit() // of what fetch has set
			}
			res.code = abi.ResultOK
			if r.flow.Batches == 0 { // there was nothing to do from the begin
				res.code = abi.ResultSkipped
			}
			return res
		}
		res = r.processBatch()
		if res.err != nil || res.code != abi.ResultOK {
			return res
		}
		if r.overdue() { // too late to commit
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

// fetch calls fetch. What it sets is dropped unless it returns 0.
func (r *run) fetch() callResult {
	own := r.hostState
	r.hostState = own.fork()
	res := r.callEntry(abi.ExportFetch, abi.InFetch)
	own.join(r.hostState, res.err == nil && res.code == abi.ResultOK)
	r.hostState = own
	return res
}

// subtask is a part of a batch that is processed by its own instance.
type subtask struct {
	r           *run
	share       *subset
	result      callResult
	spareStream uint32 // stream of random numbers for a second instance
	retried     bool   // process was retried after a trap

	done, failed int64 // elements
}

// processBatch processes the batch in as many concurrent subtasks as the job allows, each
// with a run and an instance of its own. The first subtask uses the instance of r.
// Meanwhile r does not compute.
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

	budget := &r.compiled.engine.budget
	c := subtasks{job: r.job}
	var wg sync.WaitGroup
	budget.startSubtasks(&c, n-1) // r counts for the first
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
	if in := parts[0].r.in; in != nil { // nil if it trapped and got no second instance
		in.handOver(parts[0].r, r)
	}
	return r.mergeSubtasks(parts)
}

// newSubtaskRun returns a run for a subtask, which acts in place of r with r's limits less
// what r has used.
func (r *run) newSubtaskRun() *run {
	p := &run{
		compiled: r.compiled, deadline: r.deadline, log: r.log, resultLimit: r.resultLimit,
		job: r.job, active: true, stream: r.stream, hostState: r.hostState.fork(), worker: r.worker,
	}
	own := *r.facts // lazily created values are not shared
	p.facts = &own
	p.ctx = runContext{r.ctx, p}
	p.fuelGauge = fuelGauge{end: r.fuelGauge.end, slice: r.fuelGauge.slice}
	if limit := r.fuelGauge.limit; limit > 0 {
		p.fuelGauge.limit = max(limit-r.fuel, 1) // 0 would be no limit
	}
	return p
}

// nextStream returns the number of an unused stream of random numbers.
func (r *run) nextStream() uint32 {
	r.streams++
	return r.streams
}

// mergeSubtasks adds what the subtasks did to the run. The result of the run is that
// of the first subtask, in the order of the batch, that did not end well.
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
		r.hostState.join(p.r.hostState, well) // if one subtask fails, the state of all is dropped
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
		r.ungrantedPath, r.pathFailed = cmp.Or(r.ungrantedPath, p.r.ungrantedPath), r.pathFailed || p.r.pathFailed
		if p.r.refused.function != nil {
			r.refused = p.r.refused
		}
		if p.r.total != 0 {
			r.done, r.total = p.r.done, p.r.total
		}
		r.stderr.append(&p.r.stderr, r.log.secrets)
		r.flow.Succeeded += p.done
		r.flow.Failed += p.failed
	}
	r.peak = max(r.peak, peak)
	// Each subtask could use all remaining fuel; together they may not use more.
	if limit := r.fuelGauge.limit; res.err == nil && limit > 0 && r.fuel > limit {
		res.err = errFuel
	}
	return res
}

// runSubset passes the subset to process, and then once more those elements that
// process wants to retry.
func (p *subtask) runSubset() {
	p.result = p.process(p.share)
	well := p.result.err == nil && p.result.code == abi.ResultOK
	again := p.share.withMark(abi.AckRetry)
	p.done, p.failed = p.share.countMarks(well)
	if !well || len(again.indexes) == 0 {
		return
	}
	p.failed -= int64(len(again.indexes)) // they counted as failed so far
	p.result = p.process(again)
	done, failed := again.countMarks(p.result.err == nil && p.result.code == abi.ResultOK)
	p.done, p.failed = p.done+done, p.failed+failed
}

// process calls the entry with a subset. After the first trap it retries with a new
// instance, and discards what the failed call has set.
func (p *subtask) process(s *subset) callResult {
	r := p.r
	for {
		own := r.hostState
		r.hostState, r.subset = own.fork(), s // what the call sets, until it is known how it ended
		res := r.callEntry(abi.ExportProcess, abi.InProcess)
		call := r.hostState
		r.hostState, r.subset = own, nil
		if res.err == nil || p.retried || !r.mayRepeat(res.err) {
			own.join(call, res.err == nil && res.code == abi.ResultOK)
			return res
		}
		p.retried = true
		r.log.logLimited(r.ctx, slog.LevelWarn, "batch is retried in another instance", slog.String("err", clip(r.explainTrapWithStack(res.err), r.log.line)))
		r.result, r.message, r.memoryLimitReached, r.memoryErr = nil, "", false, nil
		r.stderr.cause, r.refused = "", refusedCall{}
		s.resetMarks()
		r.detach()
		r.stream = p.spareStream
		if err := r.attach(true); err != nil {
			res.err = err
			return res
		}
	}
}

// mayRepeat reports whether an error is a trap of the guest itself, not the end of
// its fuel, its time or its run.
func (r *run) mayRepeat(err error) bool {
	return !errors.Is(err, errFuel) && !errors.Is(err, errRunEnded) && r.ctx.Err() == nil && !r.overdue()
}
