package main

import "github.com/wasmjob/wasmjob/host/reason"

// reasonCode stands in JSON beside the words of a reason. Scripts compare the code;
// words may get better.
type reasonCode struct {
	ReasonCode   reason.Code       `json:"reason_code,omitempty"` // absent where there are words alone
	ReasonParams map[string]string `json:"reason_params,omitempty"`
}

func codeOf(r reason.Reason) reasonCode { return reasonCode{r.Code, r.Params()} }
