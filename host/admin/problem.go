package admin

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/wasmjob/wasmjob/host"
)

// Codes of problems, in addition to those of host.Error. Scripts depend on them:
// never change one.
const (
	codeNoRoute    = "no_such_route"
	codeMethod     = "method_not_allowed"
	codeBadRequest = "bad_request"
	codeMediaType  = "unsupported_media_type"
	codeTooLarge   = "too_large"
	codeTimeout    = "timeout"
	codeBusy       = "busy"
	codeOutdated   = "outdated" // If-Match does not hold

	codeUnauthenticated = "unauthenticated"
	codeTooMany         = "too_many_requests"
	codeCrossSite       = "cross_site"
	codeCSRF            = "csrf"
	codeWrongHost       = "wrong_host"
	codeNotReady        = "not_ready"
	codeStuck           = "stuck"
)

// The codes of host.Error.
const (
	codeInvalid     = string(host.Invalid)
	codeNotFound    = string(host.NotFound)
	codeRefused     = string(host.Refused)
	codeDenied      = string(host.Denied)
	codeUnavailable = string(host.Unavailable)
	codeUnknown     = string(host.Unknown)
	codeInternal    = string(host.Internal)
)

const (
	problemType = "application/problem+json" // of RFC 9457
	// problemURN precedes the code in the type of a problem.
	problemURN = "urn:wasmjobd:problem:"
)

// problem is the answer to a request that was not fulfilled.
type problem struct {
	Type      string  `json:"type"`
	Title     string  `json:"title"`
	Status    int     `json:"status"`
	Detail    string  `json:"detail"`
	Code      string  `json:"code"`
	Errors    []fault `json:"errors,omitempty"`
	RequestID string  `json:"request_id,omitempty"`

	retryAfter string // seconds; "": 1, for the statuses that have it
}

// fault describes one fault in a body, or in a parameter of the query.
type fault struct {
	Pointer   string `json:"pointer"` // RFC 6901; empty: the whole body, or not in the body
	Parameter string `json:"parameter,omitempty"`
	Message   string `json:"message"`
}

// Error returns the text for people.
func (p *problem) Error() string { return p.Detail }

// refuse makes a problem. faults are details for programs.
func refuse(status int, code, detail string, faults ...fault) *problem {
	return &problem{Status: status, Code: code, Detail: detail, Errors: faults}
}

// statuses maps codes of the host to HTTP statuses.
var statuses = map[host.Code]int{
	host.Invalid:     http.StatusUnprocessableEntity,
	host.NotFound:    http.StatusNotFound,
	host.Refused:     http.StatusConflict,
	host.Denied:      http.StatusForbidden,
	host.Unavailable: http.StatusServiceUnavailable,
	host.Unknown:     http.StatusGatewayTimeout,
	host.Internal:    http.StatusInternalServerError,
}

// ownStatuses maps the codes that only the API has to HTTP statuses.
var ownStatuses = map[string]int{
	codeNoRoute:    http.StatusNotFound,
	codeMethod:     http.StatusMethodNotAllowed,
	codeBadRequest: http.StatusBadRequest,
	codeMediaType:  http.StatusUnsupportedMediaType,
	codeTooLarge:   http.StatusRequestEntityTooLarge,
	codeTimeout:    http.StatusRequestTimeout,
	codeBusy:       http.StatusServiceUnavailable,
	codeOutdated:   http.StatusPreconditionFailed,

	codeUnauthenticated: http.StatusUnauthorized,
	codeTooMany:         http.StatusTooManyRequests,
	codeCrossSite:       http.StatusForbidden,
	codeCSRF:            http.StatusForbidden,
	codeWrongHost:       http.StatusMisdirectedRequest,
	codeNotReady:        http.StatusServiceUnavailable,
	codeStuck:           http.StatusServiceUnavailable,
}

// statusOf returns the HTTP status of a code, 0 for one that does not exist.
func statusOf(code string) int {
	if status, ok := ownStatuses[code]; ok {
		return status
	}
	return statuses[host.Code(code)]
}

// problemOf turns an error into an answer.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	code := host.Internal
	var faults []fault
	if e, ok := errors.AsType[*host.Error](err); ok {
		code = e.Code
		if e.Unless != "" {
			faults = []fault{{Pointer: "/" + e.Unless, Message: "set it to true to do it nevertheless"}}
		}
	} else if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		code = host.Unavailable
	}
	return refuse(statuses[code], string(code), err.Error(), faults...)
}

// write sends the problem.
func (p *problem) write(w http.ResponseWriter, id string) {
	sent := *p
	sent.Type, sent.Title, sent.RequestID = problemURN+p.Code, http.StatusText(p.Status), id
	switch p.Status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		w.Header().Set("Retry-After", cmp.Or(p.retryAfter, "1"))
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	writeJSON(w, p.Status, problemType, sent)
}

// writeJSON sends v. An error means that the client is gone, so it is dropped.
func writeJSON(w http.ResponseWriter, status int, mediaType string, v any) {
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// setHeaders sets headers of every answer that keep browsers from guessing its type, and from
// storing, embedding or running it.
func setHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
}

// requestID returns the id of the request that w answers.
func requestID(w http.ResponseWriter) string {
	if w.Header().Get(requestIDHeader) == "" {
		w.Header().Set(requestIDHeader, rand.Text())
	}
	return w.Header().Get(requestIDHeader)
}
