package main

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/admin"
	"github.com/wasmjob/wasmjob/host/config"
)

// Variables in place of the flags for another server.
const (
	addressVariable = "WASMJOBD_ADDRESS"
	tokenVariable   = "WASMJOBD_TOKEN_FILE" //nolint:gosec // the name of a variable
	contextVariable = "WASMJOBD_CONTEXT"
)

// addressFlags select another server, which is used instead of the server of a configuration.
type addressFlags struct {
	address, tokenFile, context string
	added                       bool // the command has them
}

func (a *addressFlags) add(c *cobra.Command) {
	a.added = true
	c.Flags().StringVar(&a.address, "address", "", "`address` of a server to use, such as https://host:8680; --config is not read ($"+addressVariable+")")
	c.Flags().StringVar(&a.tokenFile, "token-file", "", "`file` with the token for the server of --address or --context ($"+tokenVariable+")")
	c.Flags().StringVar(&a.context, "context", "", "`name` of a server in ~/.config/wasmjobd/config.toml, which has its token and certificates ($"+contextVariable+")")
}

// server returns the server that the flags, or else the variables in env, select. files are those of
// --config. A result without an address means that the configuration determines the server.
func (a *addressFlags) server(env, files []string) (config.Context, error) {
	var at config.Context
	configured := !slices.Equal(files, []string{defaultConfig}) // --config was given
	switch {
	case configured && a.address != "":
		return at, usage("--address and --config: name either a server or its configuration")
	case configured && a.context != "":
		return at, usage("--context and --config: name either a server or its configuration")
	case a.address != "" && a.context != "":
		return at, usage("--address and --context: write only one of them")
	case configured: // the flag overrides the variables
		return at, nil
	}
	address, _ := variable(env, addressVariable)
	name, _ := variable(env, contextVariable)
	// An address has precedence over the name of a context, and a flag over a variable.
	if a.address == "" && (a.context != "" || address == "") {
		if name = cmp.Or(a.context, name); name != "" {
			var err error
			if at, err = contextOf(env, name); err != nil {
				return at, err
			}
		}
	}
	token, _ := variable(env, tokenVariable)
	at.Address = cmp.Or(a.address, at.Address, address)
	at.TokenFile = cmp.Or(a.tokenFile, at.TokenFile, token)
	return at, nil
}

// contextOf finds a context, which is a server with its token and certificates, in the user's file of
// contexts.
func contextOf(env []string, name string) (config.Context, error) {
	top, _ := variable(env, "XDG_CONFIG_HOME")
	if home, _ := variable(env, "HOME"); home != "" {
		top = cmp.Or(top, filepath.Join(home, ".config"))
	}
	if !filepath.IsAbs(top) {
		return config.Context{}, usage("--context %s: set XDG_CONFIG_HOME or HOME, which locate the file of contexts", name)
	}
	path := filepath.Join(top, "wasmjobd", "config.toml")
	all, err := config.LoadContexts(path, env)
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return config.Context{}, exitf(exitInvalid, "--context %s: the file of contexts is not valid:\n%w", name, problems)
	}
	if err != nil {
		return config.Context{}, err
	}
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name
		switch {
		case c.Name == name && c.Address == "":
			return c, exitf(exitInvalid, "--context %s: %s gives it no address", name, path)
		case c.Name == name:
			return c, nil
		}
	}
	return config.Context{}, exitf(exitNotFound, "--context %s: %s does not have it%s", name, path, andAsk(name, names))
}

// dial returns a client for a server.
func dial(at config.Context) (*admin.Client, error) {
	if at.TokenFile == "" {
		return nil, usage("--address: the server needs a token; name its file with --token-file or %s", tokenVariable)
	}
	token, err := admin.ReadToken(at.TokenFile)
	if err != nil {
		return nil, err
	}
	return admin.At(at.Address, token, admin.ClientTLS{CA: at.CA, Cert: at.Cert, Key: at.Key})
}
