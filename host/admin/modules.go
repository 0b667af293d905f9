package admin

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

const (
	modulesPath = "/api/v1/modules"
	wasmType    = "application/wasm"
	// uploadTimeout is the limit for the upload of a module.
	uploadTimeout = 2 * time.Minute
	// maxReference is the limit of a module's reference, in bytes.
	maxReference = 256
)

// rollBackDocument is the module that a step back leads to.
type rollBackDocument struct {
	Version int `json:"version"`
	operator.ModuleRef
	Runs bool `json:"runs"` // it runs already; otherwise it is the next one
}

// keepModule stores a module, uploaded as application/wasm. No job runs it until a
// call names it.
func (h *Handler) keepModule(r *request) error {
	if h.o.Keep == nil {
		return noRoute(r.Request)
	}
	if r.Header.Get("Content-Type") != wasmType || r.Header.Get("Content-Encoding") != "" {
		return refuse(http.StatusUnsupportedMediaType, codeMediaType, "a module is sent as "+wasmType)
	}
	// An upload gets more time than other requests. Without support for deadlines the
	// server's general ones stay.
	c := http.NewResponseController(r.w)
	_ = c.SetReadDeadline(time.Now().Add(uploadTimeout))
	_ = c.SetWriteDeadline(time.Now().Add(uploadTimeout + shutdownTimeout))
	switch err := h.o.Keep(r.Body, r.PathValue("digest")); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return tooSlow()
	case err != nil:
		return err
	}
	r.w.WriteHeader(http.StatusNoContent)
	return nil
}

// setModule names the module that is to replace the one of a job.
func setModule(r *request, name string) error {
	var next operator.ModuleRef
	if err := r.readBody(map[string]any{"digest": &next.Digest, "reference": &next.Reference}); err != nil {
		return err
	}
	if len(next.Reference) > maxReference {
		return refuse(http.StatusUnprocessableEntity, string(host.Invalid), fmt.Sprintf("the reference has more than %d bytes", maxReference))
	}
	return r.done(name, r.op.NextModule(r.Context(), name, next))
}

// rollBackModule goes one step back, or with "to" to the module of that digest.
func rollBackModule(r *request, name string) error {
	var to string
	if err := r.readBody(map[string]any{"to": &to}); err != nil {
		return err
	}
	back, runs, err := r.op.RollBack(r.Context(), name, to)
	if err != nil {
		return err
	}
	return r.answer(rollBackDocument{Version: 1, ModuleRef: back, Runs: runs})
}

// withdrawModule withdraws the next module if it has the digest in the body.
func withdrawModule(r *request, name string) error {
	var digest string
	if err := r.readBody(map[string]any{"digest": &digest}); err != nil {
		return err
	}
	return r.done(name, r.op.WithdrawModule(r.Context(), name, digest))
}
