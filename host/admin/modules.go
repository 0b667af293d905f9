package admin

import (
	"encoding/base64"
	"fmt"
	"net/http"
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

// signatureHeader has the text of the signature of an uploaded module, in Base64.
const signatureHeader = "Wasmjobd-Module-Signature"

// signatureParameter describes the header with the signature of a module.
func signatureParameter() parameter {
	return parameter{
		name: signatureHeader, says: "the signature of the module in minisign's format, in Base64: the output of base64 -w0 MODULE.wasm.minisig",
		takes: schema{"type": "string", "minLength": 1, "maxLength": base64.StdEncoding.EncodedLen(operator.MaxSignature)},
	}
}

// signing returns the keys for an uploaded module, and its signature. It refuses an upload that would be refused
// whatever its bytes are, before they are sent. digest is "" if it is not known yet.
func (r *request) signing(digest string) (host.Signing, error) {
	s, err := r.signed()
	if err == nil && r.h.o.Admit != nil {
		err = r.h.o.Admit(digest, s)
	}
	return s, err
}

// signed is signing without that refusal: it only parses the header.
func (r *request) signed() (host.Signing, error) {
	s := host.Signing{Keys: r.h.o.ModuleKeys}
	value, sent := r.Header[signatureHeader]
	if !sent {
		return s, nil
	}
	if len(value) != 1 || len(value[0]) > base64.StdEncoding.EncodedLen(operator.MaxSignature) {
		return s, refuse(http.StatusBadRequest, codeBadRequest, fmt.Sprintf("the header %s is sent once, with a signature of at most %d bytes", signatureHeader, operator.MaxSignature))
	}
	text, err := base64.StdEncoding.Strict().DecodeString(value[0])
	if err != nil || len(text) == 0 {
		return s, refuse(http.StatusBadRequest, codeBadRequest, "the header "+signatureHeader+" is not in Base64; send the output of base64 -w0 MODULE.wasm.minisig")
	}
	s.Signature = text
	return s, nil
}

// keepModule stores the module in the body on this server's disk, under the digest in the path.
func keepModule(r *request) error {
	if r.h.o.Receive == nil {
		return noRoute(r.Request)
	}
	digest := r.PathValue("digest")
	s, err := r.signing(digest)
	if err != nil {
		return err
	}
	return r.receive(shutdownTimeout, func(m *host.ReceivedModule) error {
		keep := m.Keep
		if r.dry() { // check it as Keep would, and store nothing
			keep = m.Check
		}
		if err := keep(digest, s.Signature); err != nil {
			return err
		}
		if err := r.note("module upload", "digest="+digest); err != nil {
			return err
		}
		r.w.WriteHeader(http.StatusNoContent)
		return nil
	})
}

type setModuleBody struct {
	Digest    string `json:"digest"`
	Reference string `json:"reference"`
}

// setModule names the next module of a job.
func setModule(r *request, name string, b *setModuleBody) error {
	if len(b.Reference) > maxReference {
		return refuse(http.StatusUnprocessableEntity, codeInvalid, fmt.Sprintf("the reference has more than %d bytes", maxReference))
	}
	return r.op.NextModule(r.Context(), name, operator.ModuleRef{Digest: b.Digest, Reference: b.Reference})
}

type rollBackBody struct {
	To *string `json:"to"`
}

// rollBackModule goes one step back, or to the module of a digest.
func rollBackModule(r *request, name string, b *rollBackBody) (rollBackDocument, error) {
	to, err := textIn("to", b.To)
	if err != nil {
		return rollBackDocument{}, err
	}
	back, runs, err := r.op.RollBack(r.Context(), name, to)
	return rollBackDocument{Version: 1, ModuleRef: back, Runs: runs}, err
}

type withdrawBody struct {
	Digest string `json:"digest"`
}

// withdrawModule withdraws the next module if it has the digest in the body.
func withdrawModule(r *request, name string, b *withdrawBody) error {
	return r.op.WithdrawModule(r.Context(), name, b.Digest)
}
