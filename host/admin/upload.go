package admin

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/operator"
)

// uploadsAtOnce is the limit of concurrent uploads. Each is on the server's disk meanwhile.
const uploadsAtOnce = 4

// examiningTimeout is the limit for the report on a module and for its copies.
const examiningTimeout = 4 * time.Minute

func uploadRoute() route {
	return route{
		method: http.MethodPost, path: modulesPath, right: operator.Publish, fails: []string{codeInvalid, codeRefused, codeNotFound},
		does: action{takesType: wasmType, gives: reflect.TypeFor[operator.PushReport](), status: http.StatusOK, reports: true, do: uploadModule},
		says: "does what `module push` does with a module, uploaded as " + wasmType + `. It examines the module, with a test run, and stores it on this server and the others that take modules. ` +
			`It does not store a module that cannot run, or cannot run in the "job". With "dry_run" it stores none, and shows what it would refuse. ` +
			`"other_servers" says of each other server why it does not have the module, and "unread" why none was looked for`,
		query: []parameter{
			{name: "job", says: "a job that is to run it"},
			{name: "name", says: "a permanent name for it, as orders@1.4.0"},
		},
		header: []parameter{signatureParameter()},
		served: func(o *Options) bool { return o.Receive != nil && o.Push != nil },
	}
}

// uploadModule examines the module in the body and stores it on the servers of the cluster. The answer is a report.
func uploadModule(r *request) error {
	p := *r.h.o.Push
	p.Job, p.Name, p.DryRun = r.query.Get("job"), r.query.Get("name"), r.dry()
	var err error
	if p.Signing, err = r.signing(""); err != nil { // the digest is known once the body is read
		return err
	}
	if p.Job != "" {
		if _, err := checkName(p.Job); err != nil {
			return err
		}
	}
	return r.receive(examiningTimeout, func(m *host.ReceivedModule) error {
		p.Keep = m.Keep
		report, err := r.op.PushModule(r.Context(), m, p)
		if err != nil {
			return err
		}
		return r.answer(report)
	})
}

// receive stores the module of the request on the disk and calls do with it. Afterwards it deletes
// what do did not keep. more is the time for do.
func (r *request) receive(more time.Duration, do func(*host.ReceivedModule) error) (err error) {
	if r.Header.Get("Content-Type") != wasmType || r.Header.Get("Content-Encoding") != "" {
		return refuse(http.StatusUnsupportedMediaType, codeMediaType, "a module is sent as "+wasmType)
	}
	if r.ContentLength > guest.MaxModule {
		return tooLarge()
	}
	select {
	case r.h.uploads <- struct{}{}:
		defer func() { <-r.h.uploads }()
	default:
		return refuse(http.StatusServiceUnavailable, codeBusy, "the server takes other uploads; try again")
	}
	// An upload gets more time than other requests. Without support for deadlines the
	// server's general ones stay.
	c := http.NewResponseController(r.w)
	_ = c.SetReadDeadline(time.Now().Add(uploadTimeout))
	_ = c.SetWriteDeadline(time.Now().Add(uploadTimeout + more))
	body := &sender{from: http.MaxBytesReader(r.w, r.Body, guest.MaxModule)}
	m, err := r.h.o.Receive(body)
	switch { // the client's faults first, of which err is only a consequence
	case errors.As(body.err, new(*http.MaxBytesError)):
		return tooLarge()
	case errors.Is(body.err, os.ErrDeadlineExceeded):
		return tooSlow()
	case body.err != nil:
		return refuse(http.StatusBadRequest, codeBadRequest, "the module cannot be read: "+body.err.Error())
	case err != nil:
		// While a client sends, it reads no answer, and a closed connection would hide why.
		_, _ = io.Copy(io.Discard, body)
		return err
	}
	defer func() {
		if closeErr := m.Close(); closeErr != nil {
			r.h.o.Log.Warn("an upload is left on the disk, and removed later", "error", closeErr)
		}
	}()
	return do(m)
}

// tooLarge is the problem of a module that is too large.
func tooLarge() *problem {
	return refuse(http.StatusRequestEntityTooLarge, codeTooLarge, fmt.Sprintf("the module has more than %d bytes", guest.MaxModule))
}

// sender reads a body and keeps its error, to distinguish it from errors of the disk.
type sender struct {
	from io.Reader
	err  error
}

// Read implements io.Reader.
func (s *sender) Read(b []byte) (int, error) {
	n, err := s.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
