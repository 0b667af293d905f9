package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/internal/oci"
)

// artifactPatience bounds the wait for a registry of artifacts.
const artifactPatience = 3 * time.Minute

// Environment variables with the credentials for one registry of artifacts, which override the
// file that docker login writes.
const (
	envOCIRegistry = "OCI_REGISTRY"
	envOCIUser     = "OCI_USER"
	envOCIPassword = "OCI_PASSWORD"
)

// artifacts returns a client for registries of artifacts. The variables with credentials are for one
// registry alone: another one that a reference names must not get them.
func artifacts(term *terminal) oci.Client {
	credentials, ca := oci.FilesOf(func(name string) (string, bool) { return variable(term.env, name) })
	return oci.Client{Limit: guest.MaxModule, MaxSignature: operator.MaxSignature, CA: ca, Credential: func(host string) (oci.Credential, error) {
		at, _ := variable(term.env, envOCIRegistry)
		user, found := variable(term.env, envOCIUser)
		if found && (at == "" || strings.Contains(at, "/")) { // no host, or a URL
			return oci.Credential{}, errors.New("set OCI_REGISTRY to the registry that OCI_USER and OCI_PASSWORD are for, such as registry.example:5000; no other registry gets them")
		}
		if found && at == host {
			password, _ := variable(term.env, envOCIPassword)
			return oci.Credential{User: user, Password: password}, nil
		}
		return oci.CredentialIn(credentials, host)
	}}
}

// pullModule fetches a module and its signature from a registry of artifacts.
func pullModule(ctx context.Context, term *terminal, text string) (wasm, sign []byte, err error) {
	ref, err := oci.Parse(text)
	if err != nil {
		return nil, nil, exitf(exitInvalid, "%w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, artifactPatience)
	defer cancel()
	m, at, err := artifacts(term).Pull(ctx, ref)
	if err != nil {
		return nil, nil, exitf(exitFailure, "%w", err)
	}
	if ref.Digest == "" { // a tag may move, so show which artifact it is now
		term.note("wasmjobd: it is %s", at)
	}
	return m.Wasm, m.Signature, nil
}

// pullFor returns a function that fetches the artifacts which a server's file names as modules.
func pullFor(term *terminal) func(context.Context, string) (host.Artifact, error) {
	return func(ctx context.Context, text string) (host.Artifact, error) {
		ref, err := oci.Parse(text)
		if err != nil {
			return host.Artifact{}, err
		}
		m, at, err := artifacts(term).Pull(ctx, ref)
		return host.Artifact{Wasm: m.Wasm, Signature: m.Signature, Manifest: at.Digest}, err
	}
}

// pushedArtifact is the JSON of module push --to. Scripts read it: add fields, but do not
// change any.
type pushedArtifact struct {
	Version  int    `json:"version"`
	Artifact string `json:"artifact"` // with its digest
	Digest   string `json:"digest"`   // of the module
}

// pushArtifact pushes a module as an artifact, unless this host would refuse to run it.
func pushArtifact(c *cobra.Command, term *terminal, path, to string) error {
	for _, flag := range []string{"job", "name", "version", "dry-run"} {
		if c.Flags().Changed(flag) {
			return usage("--%s and --to: with --to the module goes only to a registry of artifacts; leave one of them out", flag)
		}
	}
	ref, err := oci.Parse(to)
	if err != nil {
		return exitf(exitInvalid, "%w", err)
	}
	wasm, sign, err := readSigned(c.Context(), term, path)
	if err != nil {
		return err
	}
	found, err := guest.Check(wasm)
	if err == nil {
		err = refusalOf(path, found)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context(), artifactPatience)
	defer cancel()
	at, err := artifacts(term).Push(ctx, ref, oci.Module{Wasm: wasm, Signature: sign})
	if err != nil {
		return exitf(exitFailure, "%w", err)
	}
	if term.json() {
		return term.printJSON(pushedArtifact{1, at.String(), found.Digest})
	}
	term.printf("%s\n", at)
	return nil
}
