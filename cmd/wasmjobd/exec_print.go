package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host/job"
)

// execution is what "exec" prints as JSON.
type execution struct {
	Verdict      job.Verdict        `json:"verdict"`
	Code         *int32             `json:"code"` // null if the entry did not return
	Result       string             `json:"result,omitempty"`
	ResultBase64 []byte             `json:"result_base64,omitempty"` // for a result that is not text
	Error        string             `json:"error,omitempty"`
	Took         string             `json:"took"`
	TookMS       float64            `json:"took_ms"`
	PeakBytes    int64              `json:"peak_bytes"`
	HostCalls    int64              `json:"host_calls"`
	Fuel         int64              `json:"fuel"`
	Kind         job.Kind           `json:"kind"`
	Module       string             `json:"module"`
	Log          []logLine          `json:"log"`
	Metrics      map[string]float64 `json:"metrics,omitempty"`
	State        []stateChange      `json:"state,omitempty"` // changed values
	Flow         *flowCounts        `json:"flow,omitempty"`  // of a dataflow job
	Replay       *replayed          `json:"replay,omitempty"`
}

// flowCounts is job.Flow as JSON.
type flowCounts struct {
	Batches   int64 `json:"batches"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
}

// executionOf returns the JSON of a run.
func executionOf(out job.Outcome, kind job.Kind, log *guestLog, state *itemState) execution {
	e := execution{
		Verdict: out.Verdict, Error: out.Error,
		Took: out.Took.Round(time.Microsecond).String(), TookMS: float64(out.Took.Microseconds()) / 1000,
		PeakBytes: out.PeakBytes, HostCalls: out.HostCalls, Fuel: out.Fuel, Kind: kind, Module: out.Digest,
		Log: log.kept(), Metrics: out.Metrics, State: state.changes(),
	}
	if out.HasCode {
		e.Code = &out.Code
	}
	if kind == job.Dataflow {
		e.Flow = &flowCounts{out.Flow.Batches, out.Flow.Succeeded, out.Flow.Failed}
	}
	if utf8.Valid(out.Result) {
		e.Result = string(out.Result)
	} else {
		e.ResultBase64 = out.Result
	}
	return e
}

// printExecution prints a run for a person. The guest may have set no result, which is nil, or an empty
// one.
func printExecution(term *terminal, e execution, result []byte) {
	if e.Code != nil {
		term.printf("verdict     %s (code %d)\n", e.Verdict, *e.Code)
	} else {
		term.printf("verdict     %s\n", e.Verdict)
	}
	if result != nil {
		term.printf("result      %s\n", strings.TrimSuffix(resultText(result), "\n"))
	}
	if f := e.Flow; f != nil {
		term.printf("elements    %d succeeded, %d failed; batches %d\n", f.Succeeded, f.Failed, f.Batches)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Metrics)) {
		term.printf("metric      %s = %v\n", name, e.Metrics[name])
	}
	for _, c := range e.State {
		switch {
		case c.Before == nil:
			term.printf("state       %s = %s\n", resultText([]byte(c.Key)), resultText(*c.After))
		case c.After == nil:
			term.printf("state       %s is gone, it was %s\n", resultText([]byte(c.Key)), resultText(*c.Before))
		default:
			term.printf("state       %s = %s, it was %s\n", resultText([]byte(c.Key)), resultText(*c.After), resultText(*c.Before))
		}
	}
	term.printf("took        %s\npeak memory %s\nhost calls  %d\nfuel        %d\nmodule      sha256:%s\n",
		e.Took, sizeText(e.PeakBytes), e.HostCalls, e.Fuel, e.Module)
}

// resultText returns a result unchanged if it is text, and quoted if a terminal might act upon
// it.
func resultText(b []byte) string {
	s := string(b)
	odd := func(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' && r != '\t' }
	if utf8.Valid(b) && strings.IndexFunc(s, odd) < 0 {
		return s
	}
	return strconv.Quote(s)
}
