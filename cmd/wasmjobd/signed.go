package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/internal/oci"
)

// signatureSuffix ends the name of the file with a file's signature.
const signatureSuffix = ".minisig"

// readSigned reads a module, and its signature from the file beside it or from its artifact;
// nil if there is none.
func readSigned(ctx context.Context, term *terminal, path string) (wasm, sign []byte, err error) {
	if oci.Is(path) {
		return pullModule(ctx, term, path)
	}
	if wasm, err = readModule(term, path); err != nil || path == "-" {
		return wasm, nil, err
	}
	path += signatureSuffix
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return wasm, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read from
	if sign, err = io.ReadAll(io.LimitReader(f, operator.MaxSignature+1)); err != nil {
		return nil, nil, exitf(exitFailure, "read %s: %w", path, err)
	}
	if len(sign) > operator.MaxSignature {
		return nil, nil, exitf(exitInvalid, "%s has more than %d bytes; sign with a shorter trusted comment", path, operator.MaxSignature)
	}
	return wasm, sign, nil
}

func printSignature(term *terminal, s operator.ModuleSignature) {
	line := s.State
	if s.Key != "" {
		line += fmt.Sprintf(", by key %s: %s", s.Key, plain(s.Comment))
	}
	term.printf("signature  %s\n", line)
}
