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
	// bringTimeout is how long a module may take to come.
	bringTimeout = 2 * time.Minute
	// maxReference bounds what a module is called for people, in bytes.
	maxReference = 256
)

// movedDocument is the module to which a step back leads.
type movedDocument struct {
	Version int `json:"version"`
	operator.ModuleRef
	Runs bool `json:"runs"` // it runs already; otherwise it is the next one
}

// keepModule takes the bytes of a module. No job runs it by that.
func (h *Handler) keepModule(r *request) error {
	if h.o.Keep == nil {
		return noRoute(r.Request)
	}
	if r.Header.Get("Content-Type") != wasmType || r.Header.Get("Content-Encoding") != "" {
		return refuse(http.StatusUnsupportedMediaType, codeMediaType, "a module is sent as "+wasmType)
	}
	// The client has had as long as for other requests until here. If there is no
	// other bound, that stays.
	c := http.NewResponseController(r.w)
	_ = c.SetReadDeadline(time.Now().Add(bringTimeout))
	_ = c.SetWriteDeadline(time.Now().Add(bringTimeout + shutTimeout))
	switch err := h.o.Keep(r.Body, r.PathValue("digest")); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return tooSlow()
	case err != nil:
		return err
	}
	r.w.WriteHeader(http.StatusNoContent)
	return nil
}

// setModule names the module that is to take the place of the one that a job has.
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

// rollBackModule goes one step back.
func rollBackModule(r *request, name string) error {
	var to string
	if err := r.readBody(map[string]any{"to": &to}); err != nil {
		return err
	}
	back, runs, err := r.op.RollBack(r.Context(), name, to)
	if err != nil {
		return err
	}
	return r.answer(movedDocument{Version: 1, ModuleRef: back, Runs: runs})
}

// withdrawModule takes the next module back, if it is the one that is named.
func withdrawModule(r *request, name string) error {
	var digest string
	if err := r.readBody(map[string]any{"digest": &digest}); err != nil {
		return err
	}
	return r.done(name, r.op.WithdrawModule(r.Context(), name, digest))
}
