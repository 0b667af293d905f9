package main

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/operator"
)

// maxModuleFile bounds how much of a file is read before it is checked; the sandbox has a lower
// bound of its own.
const maxModuleFile = 256 << 20

func inspectCommand(term *terminal) *cobra.Command {
	var keys []string
	c := &cobra.Command{
		Use:   "inspect MODULE.wasm",
		Short: "Show a module's kinds, needs and size, without running it",
		Long: "Inspect analyses a module: the kinds of job that it can be, its exports, its imports and the\n" +
			"grants that these can use, its memory, its digest, and the signature in MODULE.wasm.minisig. Exit\n" +
			"code 3 means that this host would not run it, or that no key of --key has signed it.",
		Example: "  wasmjobd inspect job.wasm\n  wasmjobd inspect job.wasm --key RW… -o json",
		Args:    oneModule,
		RunE: func(c *cobra.Command, args []string) error {
			wasm, sign, err := readSigned(c.Context(), term, args[0])
			if err != nil {
				return err
			}
			return inspect(term, args[0], wasm, host.Signing{Keys: keys, Signature: sign})
		},
	}
	c.Flags().StringSliceVar(&keys, "key", nil, "public minisign `key` that may have signed it")
	return c
}

// oneModule checks that a command line has one argument.
func oneModule(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("write one module: %s", c.UseLine())
	}
	return nil
}

// readModule reads a module from a file, or from standard input if the path is "-".
func readModule(term *terminal, path string) ([]byte, error) {
	in := term.in
	if path != "-" {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, exitf(exitNotFound, "there is no file %s", path)
		}
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // it was only read from
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, exitf(exitInvalid, "%s is a directory; name the .wasm file that the compiler wrote", path)
		}
		in = f
	}
	wasm, err := io.ReadAll(io.LimitReader(in, maxModuleFile))
	if err != nil {
		return nil, exitf(exitFailure, "read %s: %w", path, err)
	}
	return wasm, nil
}

// inspected is the JSON of inspect. Scripts read it: add fields, but do not change any.
type inspected struct {
	guest.Checked
	Signature operator.ModuleSignature `json:"signature"`
}

// inspect shows what a module is and how it is signed. It returns an error if this host would not run it,
// or if s has keys and none of them has signed it.
func inspect(term *terminal, path string, wasm []byte, s host.Signing) error {
	found, err := guest.Check(wasm)
	if err != nil {
		return err
	}
	out := inspected{Checked: found}
	var unsigned error
	if out.Signature, unsigned = operator.SignatureOf(bytes.NewReader(wasm), s); unsigned != nil {
		out.Signature.State = "refused"
	}
	if term.json() {
		if err := term.printJSON(out); err != nil {
			return err
		}
	} else if out.Digest != "" {
		printReport(term, out.Report)
		printSignature(term, out.Signature)
	}
	if err := refusalOf(path, found); err != nil {
		return err
	}
	return coded(unsigned)
}

// refusalOf returns the error for a module that this host would not run.
func refusalOf(path string, c guest.Checked) error {
	if c.Runs {
		return nil
	}
	return exitf(exitInvalid, "%s: %w", path, &guest.Refusal{Reason: c.Refused, Problem: c.Problem, Hint: c.Hint})
}

func printReport(term *terminal, r guest.Report) {
	term.printf("digest     sha256:%s\nsize       %s\nkinds      %s\n", r.Digest, sizeText(int64(r.Bytes)), cmp.Or(strings.Join(r.Kinds, ", "), "none"))
	if len(r.Listeners) > 0 {
		term.printf("listeners  %s\n", strings.Join(r.Listeners, ", "))
	}
	switch {
	case r.ABI == 0:
		term.printf("abi        none\n")
	case r.Since > 0: // its imports need so many additions to that version
		term.printf("abi        %d since addition %d\n", r.ABI, r.Since)
	default:
		term.printf("abi        %d\n", r.ABI)
	}
	most := "no maximum of its own"
	if r.MemoryMax > 0 {
		most = "at most " + sizeText(r.MemoryMax)
	}
	term.printf("memory     begins with %s, %s\nfunctions  %d\n", sizeText(r.MemoryMin), most, r.Functions)
	term.printf("may use    %s\nexports\n", cmp.Or(strings.Join(r.Grants, ", "), "none"))
	for _, e := range r.Exports {
		term.printf("  %s\n", e)
	}
	term.printf("imports\n")
	for _, im := range r.Imports {
		line := "  " + im.Module + "." + im.Name
		if im.Signature != "" {
			line += " " + im.Signature
		}
		if im.Grant != "" {
			line += "  [" + im.Grant + "]"
		}
		term.printf("%s\n", line)
	}
}
