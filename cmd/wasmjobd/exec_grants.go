package main

import (
	"os"
	"strings"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
)

// grants are the values of --allow.
type grants struct {
	env       []string // of this program
	allow     job.Allow
	secrets   map[string]string
	private   []string // hosts
	stateFile string
}

// parse reads the values of --allow.
func (g *grants) parse(values []string) error {
	g.allow.Env, g.secrets = map[string]string{}, map[string]string{}
	for _, v := range values {
		if err := g.one(v); err != nil {
			return err
		}
	}
	return nil
}

// one reads one value of --allow, such as "clock" or "http=https://host/path".
func (g *grants) one(text string) error {
	a := &g.allow
	kind, value, _ := strings.Cut(text, "=")
	bare := value == "" || value == "true" // as a configuration writes it
	switch {
	case kind == "dir":
		return g.dir(text, value)
	case kind == "env":
		name, is, ok := strings.Cut(value, "=")
		if !ok || name == "" {
			return usage("--allow %s: write env=NAME=VALUE", text)
		}
		a.Env[name] = is
	case kind == "secret":
		return g.secret(value)
	case kind == "http" && value != "":
		a.HTTP = append(a.HTTP, value)
	case kind == "http":
		return usage("--allow %s: write http=https://host/path", text)
	case kind == "private_host" && value != "":
		g.private = append(g.private, value)
	case kind == "private_host":
		return usage("--allow %s: write private_host=NAME, in addition to http=http://NAME/path", text)
	case kind == "clock" && (bare || value == "real"):
		a.Clock = "real"
	case kind == "clock" && value == "fixed":
		a.Clock = "fixed"
	case kind == "random" && bare:
		a.Random = true
	case kind == "state":
		a.State, g.stateFile = true, value
	case kind == "clock", kind == "random": // with another value
		return usage("--allow %s: write %s", text, kind)
	default:
		return usage("--allow %s: write dir, env, secret, http, private_host, clock, random or state; see --help", text)
	}
	return nil
}

// dir reads the value of dir=, which is MODE:HOST:GUEST. text is the whole grant, for errors. The path on
// the host may have colons.
func (g *grants) dir(text, value string) error {
	mode, rest, _ := strings.Cut(value, ":")
	colon := strings.LastIndexByte(rest, ':')
	if mode != "ro" && mode != "rw" || colon <= 0 {
		return usage("--allow %s: write dir=ro:HOST:GUEST, e.g. dir=ro:./reports:/data", text)
	}
	g.allow.Dirs = append(g.allow.Dirs, job.Dir{Host: rest[:colon], Guest: rest[colon+1:], Write: mode == "rw"})
	return nil
}

// secret reads the value of secret=, which has a secret or names its source: a variable or a file, which
// other users of the machine cannot see as they can an argument. As for a server, a secret has 1 to
// config.MaxSecret bytes, and a file may end it with one line end. No message repeats the secret.
func (g *grants) secret(value string) error {
	name, from, ok := strings.Cut(value, "=")
	if !ok || name == "" || from == "" {
		return usage("--allow secret=%s…: write secret=NAME=VALUE, secret=NAME=env:VAR or secret=NAME=file:PATH", name)
	}
	secret := from
	if env, is := strings.CutPrefix(from, "env:"); is {
		var found bool
		if secret, found = variable(g.env, env); !found {
			return usage("--allow secret=%s=%s: the variable is not set", name, from)
		}
	} else if path, is := strings.CutPrefix(from, "file:"); is {
		b, err := os.ReadFile(path)
		if err != nil {
			return exitf(exitNotFound, "--allow secret=%s=%s: %w", name, from, err)
		}
		secret = strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	}
	switch {
	case secret == "": // only of a variable or a file, so from is not the secret
		return usage("--allow secret=%s=%s: it is empty", name, from)
	case len(secret) > config.MaxSecret:
		return usage("--allow secret=%s=…: a secret has at most %d bytes", name, config.MaxSecret)
	}
	g.secrets[name] = secret
	g.allow.Secrets = append(g.allow.Secrets, name)
	return nil
}
