package main

import (
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/reason"
)

// reasonCode is the code next to the text of a reason, in JSON. Scripts compare the
// code; the text may change.
type reasonCode struct {
	ReasonCode   reason.Code       `json:"reason_code,omitempty"` // absent where there are words alone
	ReasonParams map[string]string `json:"reason_params,omitempty"`
}

func codeOf(r reason.Reason) reasonCode { return reasonCode{r.Code, r.Params()} }

// finding is something that is wrong, or to be known, of a job.
type finding struct {
	Kind   string            `json:"kind"` // wrong, blocker, breaks, needs or note
	Code   reason.Code       `json:"code,omitempty"`
	Params map[string]string `json:"params,omitempty"`
	Text   string            `json:"text"`
	Hint   string            `json:"hint,omitempty"` // what to do, where the text does not say it
}

func findingsOf(kind string, all []reason.Reason) []finding {
	out := []finding{}
	for _, r := range all {
		out = append(out, finding{kind, r.Code, r.Params(), r.String(), r.Hint()})
	}
	return out
}

func textsOf(all []reason.Reason) []string {
	out := []string{}
	for _, r := range all {
		out = append(out, r.WithHint())
	}
	return out
}

// blockedBy returns what keeps servers of ours from a job that also has other
// problems.
func blockedBy(r *operator.JobReport) []string {
	var out []string
	for _, why := range r.Blockers {
		out = append(out, "servers of ours do not run it: "+why.String())
	}
	return out
}
