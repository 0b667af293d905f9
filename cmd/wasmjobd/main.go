// Command wasmjobd runs scheduled, sharded jobs whose code is a WebAssembly module, and has the
// verbs for their files.
//
// It decides nothing: this package parses flags, wires packages together and prints. Each verb
// has a file of its own and is listed in root.go.
//
// Flow: main → run → the verb's RunE → a library package → output.go.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	_ "time/tzdata" // time zones must not depend on the server's installation
)

func main() {
	os.Exit(runAs(context.Background(), os.Args, os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program without its process, as tests call it: args exclude the name of the
// program, env is in the form of os.Environ. It returns the exit code.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runAs(ctx, append([]string{"wasmjobd"}, args...), env, stdin, stdout, stderr)
}

// runAs is run with args that include the name by which the program was called.
func runAs(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	data := &dataWriter{to: stdout}
	term := &terminal{program: args[0], env: env, in: stdin, out: data, err: stderr}
	root := rootCommand(term)
	root.SetArgs(args[1:])
	defer func() {
		if term.flush != nil {
			term.flush()
		}
	}()
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = data.lost() // printf drops errors, so a verb may not know of them
	}
	if err == nil {
		return exitOK
	}
	return report(term, err)
}

// report prints err for people and returns its exit code.
func report(term *terminal, err error) int {
	var coded *exitError
	switch {
	case errors.As(err, &coded): // the verb has chosen the exit code
	case !term.started:
		// Cobra refused the command line before any verb ran.
		coded = usage("%w", inOurWords(err))
	default:
		coded = &exitError{code: exitFailure, err: err}
	}
	if coded.err != nil { // otherwise the verb has reported everything
		term.note("wasmjobd: %v", coded.err)
	}
	return coded.code
}
