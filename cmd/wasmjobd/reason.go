package main

import (
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/reason"
)

// reasonCode is a reason's code beside its text, in JSON. Scripts compare the code; the text
// may change.
type reasonCode struct {
	ReasonCode   reason.Code       `json:"reason_code,omitempty"` // absent for a text without a code
	ReasonParams map[string]string `json:"reason_params,omitempty"`
}

// codeOf returns a reason as the keys that JSON has beside its text.
func codeOf(r reason.Reason) reasonCode { return reasonCode{r.Code, r.Params()} }

// finding is a problem of a job, or something to know about it.
type finding struct {
	Kind   string            `json:"kind"` // wrong, blocker, breaks, needs or note
	Code   reason.Code       `json:"code,omitempty"`
	Params map[string]string `json:"params,omitempty"`
	Text   string            `json:"text"`
	Hint   string            `json:"hint,omitempty"` // what to do, if the text does not say it
}

// findingsOf returns reasons as findings of one kind, not nil, since JSON is to have a list.
func findingsOf(kind string, all []reason.Reason) []finding {
	out := []finding{}
	for _, r := range all {
		out = append(out, finding{kind, r.Code, r.Params(), r.String(), r.Hint()})
	}
	return out
}

// textsOf returns the texts of reasons, not nil, since JSON is to have a list.
func textsOf(all []reason.Reason) []string {
	out := []string{}
	for _, r := range all {
		out = append(out, r.WithHint())
	}
	return out
}

// blockedBy returns why servers of ours do not run a job that also has other problems.
func blockedBy(r *operator.JobReport) []string {
	var out []string
	for _, why := range r.Blockers {
		out = append(out, "servers of ours do not run it: "+why.String())
	}
	return out
}
