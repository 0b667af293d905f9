package admin

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"time"

	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/operator"
)

// uploadsAtOnce is how many modules a server has in memory for their reports.
const uploadsAtOnce = 2

// examiningTimeout is the limit for the report on a module and for its copies.
const examiningTimeout = 4 * time.Minute

func uploadRoute() route {
	return route{
		method: http.MethodPost, path: modulesPath, right: operator.Publish, fails: []string{codeInvalid, codeRefused, codeNotFound},
		does: action{takesType: wasmType, gives: reflect.TypeFor[operator.PushReport](), status: http.StatusOK, reports: true, do: uploadModule},
		says: "does what `module push` does with a module, uploaded as " + wasmType + `: examines it, with a test run, and keeps it on this server and the others that take modules. ` +
			`A module that could not be run, or not by the "job", is not saved; with "dry_run" none is, and the answer tells what would be refused`,
		query: []parameter{
			{name: "job", says: "a job that is to run it"},
			{name: "name", says: "a name for it, as orders@1.4.0, which stays its name"},
		},
		header: []parameter{signatureParameter()},
		served: func(o *Options) bool { return o.Keep != nil && o.Push != nil },
	}
}

func uploadModule(r *request) error {
	select {
	case r.h.uploads <- struct{}{}:
		defer func() { <-r.h.uploads }()
	default:
		return refuse(http.StatusServiceUnavailable, codeBusy, "the server takes other uploads; try again")
	}
	wasm, err := r.readModule()
	if err != nil {
		return err
	}
	p := *r.h.o.Push
	p.Job, p.Name, p.DryRun, p.Keep = r.query.Get("job"), r.query.Get("name"), r.dry(), r.h.o.Keep
	if p.Signing, err = r.signing(); err != nil {
		return err
	}
	if p.Job != "" {
		if _, err := checkName(p.Job); err != nil {
			return err
		}
	}
	report, err := r.op.PushModule(r.Context(), wasm, p)
	if err != nil {
		return err
	}
	return r.answer(report)
}

// readModule reads the body, as long as it may be.
func (r *request) readModule() ([]byte, error) {
	if r.Header.Get("Content-Type") != wasmType || r.Header.Get("Content-Encoding") != "" {
		return nil, refuse(http.StatusUnsupportedMediaType, codeMediaType, "a module is sent as "+wasmType)
	}
	c := http.NewResponseController(r.w)
	_ = c.SetReadDeadline(time.Now().Add(uploadTimeout)) // without support the server's general ones stay
	_ = c.SetWriteDeadline(time.Now().Add(uploadTimeout + examiningTimeout))
	wasm, err := io.ReadAll(http.MaxBytesReader(r.w, r.Body, guest.MaxModule))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, refuse(http.StatusRequestEntityTooLarge, codeTooLarge, fmt.Sprintf("the module has more than %d bytes", guest.MaxModule))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, tooSlow()
	case err != nil:
		return nil, refuse(http.StatusBadRequest, codeBadRequest, "the module cannot be read: "+err.Error())
	}
	return wasm, nil
}
