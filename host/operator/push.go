package operator

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/internal/peer"
	"github.com/wasmjob/wasmjob/host/internal/signature"
	"github.com/wasmjob/wasmjob/host/job"
)

// MaxSignature is the limit of bytes in the text of a signature.
const MaxSignature = 2 << 10

// notePatience limits the time to write the audit row, or the name, of a module after the change
// itself.
const notePatience = 10 * time.Second

// Wasm is a module on its way: a file on the server that got it, or bytes in memory.
type Wasm interface {
	io.ReaderAt
	Size() int64
}

// Push says how a module is examined, and where it goes.
type Push struct {
	Job    string // a job that is to run it; "": none yet
	Name   string // NAME@VERSION, which the module is to have; "": none
	DryRun bool   // only report

	// Examine inspects the module that it reads, compiles it and runs it once.
	Examine func(context.Context, io.Reader) (guest.Examination, error)
	// Given returns whether jobs may have a grant, by its key in their allow table; nil: it
	// is not known.
	Given func(key string) bool
	host.Signing
	// Keep stores the module on the server that was asked, with the text of its signature;
	// nil: no server was asked.
	Keep func(digest string, sign []byte) error
	// Token is the peer token of the servers, Self the member that the asked server is.
	// Without Token no other server gets the bytes. Without both, a server that was asked has
	// the registry inside, and there is no other server.
	Token string
	Self  job.InstanceID
}

// PushReport describes a module, and which servers have it once it is saved.
type PushReport struct {
	Version int `json:"version"`
	guest.Examination
	Name      string          `json:"name,omitempty"` // NAME@VERSION
	Asked     []AskedGrant    `json:"grants_asked"`
	Signature ModuleSignature `json:"signature"`
	Unfit     string          `json:"unfit,omitempty"` // why the job cannot run it
	Saved     bool            `json:"saved"`
	Held      int             `json:"held_by"` // servers that have its bytes on their disk
	Other     []ModuleCopy    `json:"other_servers"`
	Unread    []string        `json:"unread,omitempty"` // why other servers were not looked for, if one server has the module
}

// ModuleSignature is how a module is signed.
type ModuleSignature struct {
	State   string `json:"state"` // none, valid, or unchecked: no key says who may sign
	Key     string `json:"key,omitempty"`
	Comment string `json:"comment,omitempty"` // signed, too
}

// SignatureOf returns how a module is signed. If s has keys, it returns an error for a module that
// none of them has signed.
func SignatureOf(wasm io.Reader, s host.Signing) (ModuleSignature, error) {
	keys, err := signature.ParseKeys(s.Keys)
	if err != nil {
		return ModuleSignature{}, failf(host.Invalid, err, "keys of modules")
	}
	signed, err := keys.CheckFrom(wasm, s.Signature)
	found := ModuleSignature{State: "none", Key: signed.Key, Comment: signed.Comment}
	switch {
	case err != nil:
		return found, failf(host.Invalid, err, "look at the signature of a module")
	case signed.Valid:
		found.State = "valid"
	case signed.Key != "":
		found.State = "unchecked"
	}
	return found, nil
}

// AskedGrant is a grant that the imports of a module can use.
type AskedGrant struct {
	Key     string `json:"key"`
	Unknown bool   `json:"unknown,omitempty"` // whether it is given
	Given   bool   `json:"given"`             // by the job that is to run it, else by the limits of the server
}

// PushModule examines a module and uploads it to the servers of the cluster. No job runs it
// yet. It saves nothing if no job could run the module, or the job of p cannot; the report is
// complete in both cases. It succeeds when one server has the module, and reports the others.
func (o *Operator) PushModule(ctx context.Context, wasm Wasm, p Push) (PushReport, error) {
	const what = "push a module"
	report := PushReport{Version: 1, Asked: []AskedGrant{}, Other: []ModuleCopy{}}
	var c *job.Config
	if p.Job != "" {
		found, err := o.Job(ctx, p.Job)
		if err != nil {
			return report, err
		}
		if c = found.Config; c == nil || found.Modules.Now == nil {
			c, report.Unfit = nil, fmt.Sprintf("job %s runs no module, or its configuration cannot be read", p.Job)
		}
	}
	var err error
	if report.Signature, err = SignatureOf(bytesOf(wasm), p.Signing); err != nil { // before any of its code runs
		return report, err
	}
	if report.Examination, err = p.Examine(ctx, bytesOf(wasm)); err != nil {
		return report, err
	}
	report.Report = report.Listed() // no list is null in JSON
	// Without a digest it could not be decoded. Then it does not run, and is refused below.
	if report.Name = p.Name; p.Name != "" && report.Digest != "" {
		if err := o.nameable(ctx, p.Name, report.Digest); err != nil {
			return report, err
		}
	}
	given := p.Given
	if c != nil {
		given = c.Allow.Gives
		if !slices.Contains(report.Kinds, string(c.Kind)) {
			report.Unfit = fmt.Sprintf("the module can be: %s, and job %s is %s", strings.Join(report.Kinds, ", "), p.Job, c.Kind)
		}
	}
	for _, key := range report.Grants {
		report.Asked = append(report.Asked, AskedGrant{Key: key, Unknown: given == nil, Given: given != nil && given(key)})
	}
	switch {
	case p.DryRun:
		return report, nil
	case !report.Runs:
		return report, failf(host.Invalid, &guest.Refusal{Reason: report.Refused, Problem: report.Problem, Hint: report.Hint}, "%s: it is not saved", what)
	case report.Unfit != "":
		return report, failf(host.Refused, nil, "%s: it is not saved: %s", what, report.Unfit)
	}
	if err := o.save(ctx, wasm, p, &report); err != nil || p.Name == "" {
		return report, err
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), notePatience)
	defer cancel()
	return report, o.NameModule(after, p.Name, report.Digest)
}

// bytesOf reads a module from its beginning.
func bytesOf(wasm Wasm) io.Reader { return io.NewSectionReader(wasm, 0, wasm.Size()) }

// save stores a module on the server that was asked, and on the others.
func (o *Operator) save(ctx context.Context, wasm Wasm, p Push, report *PushReport) error {
	if p.Keep != nil {
		if err := p.Keep(report.Digest, p.Signature); err != nil {
			return err
		}
		report.Held = 1
	}
	if p.Keep == nil || p.Token != "" || p.Self != "" {
		copies, err := o.spread(ctx, peer.Module{Digest: report.Digest, Bytes: wasm, Size: wasm.Size(), Signature: p.Signature}, p.Token, p.Self)
		switch {
		case err != nil && report.Held == 0:
			return err
		case err != nil: // one server has it, which is enough
			report.Unread = append(report.Unread, err.Error())
		}
		report.Other = append(report.Other, copies...)
		for _, c := range copies {
			if c.Fault == "" {
				report.Held++
			}
		}
	}
	if report.Held == 0 {
		return failf(host.Unavailable, nil, "push a module: no server has it: %s", faultsOf(report.Other))
	}
	report.Saved = true
	// The module is saved: write the row even if the client has gone away.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), notePatience)
	defer cancel()
	return o.Note(after, "module push", fmt.Sprintf("held_by=%d digest=%s", report.Held, report.Digest))
}

// faultsOf says why servers do not have a module.
func faultsOf(copies []ModuleCopy) string {
	if len(copies) == 0 {
		return "no other server takes modules; set peer_listen and peer_token there"
	}
	var all []string
	for _, c := range copies {
		all = append(all, fmt.Sprintf("%.256q: %s", c.Address, c.Fault))
	}
	return strings.Join(all, "; ")
}
