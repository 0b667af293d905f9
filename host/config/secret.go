package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Secret is one name in [host.secrets]: where the value comes from, not what it
// is.
type Secret struct {
	Name string
	Env  string // the variable that has it, or
	File string // the file
}

// MaxSecret is the longest secret, in bytes.
const MaxSecret = 64 << 10

// secrets reads [host.secrets]. What stands there instead of a source may be
// the secret itself, so no message repeats it.
func (b *builder) secrets() []Secret {
	const table = "host.secrets"
	texts := get(b, map[string]string(nil), table)
	var secrets []Secret
	for _, name := range sortedNames(texts) {
		sub := "." + quoteKey(name)
		at := b.values[table].inside[sub]
		refuse := func(message, hint string) { b.fault("host", "secrets", sub, CodeValue, message, hint) }
		s := Secret{Name: name}
		kind, from, _ := strings.Cut(texts[name], ":")
		switch {
		case !isName(name):
			refuse("this is no name of a secret", nameHint)
			continue
		case kind == "env" && isVariable(from):
			s.Env = from
		case kind == "env":
			refuse("after env: the name of a variable is wanted", `write "env:NAME"`)
			continue
		case kind == "file" && from != "":
			s.File = b.resolve(at, from)
		default:
			refuse("a secret is named here, not written", `write "env:NAME" or "file:path/to/file"`)
			continue
		}
		b.secretAt[name] = at
		secrets = append(secrets, s)
	}
	return secrets
}

// Secrets fetches the values of all secrets, by name: from env, which has the
// form of os.Environ, or from their files, without the line end there. The error is a
// Problems with every one that is not there.
func (f *File) Secrets(env []string) (map[string]string, error) {
	variables := newEnvironment(env)
	values := make(map[string]string, len(f.Host.Secrets))
	var problems Problems
	for _, s := range f.Host.Secrets {
		value, err := s.fetch(variables)
		if err != nil {
			at := f.secretAt[s.Name]
			problems = append(problems, at.problem(joinKey("host.secrets", s.Name), CodeReference, printable(err.Error()), "see to it, or remove the secret"))
			continue
		}
		values[s.Name] = value
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return values, nil
}

func (s Secret) fetch(variables environment) (string, error) {
	if s.Env != "" {
		value, set := variables.lookup(s.Env)
		switch {
		case !set || value == "":
			return "", fmt.Errorf("the variable %s is not set", s.Env)
		case len(value) > MaxSecret:
			return "", fmt.Errorf("the variable %s has more than %d bytes", s.Env, MaxSecret)
		}
		return value, nil
	}
	value, err := s.read()
	if err != nil {
		return "", fmt.Errorf("the file %s %w", s.File, err)
	}
	return value, nil
}

func (s Secret) read() (string, error) {
	// Whoever waits for the writer of a pipe might wait for ever.
	if info, err := os.Stat(s.File); err == nil && !info.Mode().IsRegular() {
		return "", errors.New("is not a regular file")
	}
	f, err := os.Open(s.File)
	if err != nil {
		return "", errors.New(plainError(err))
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, MaxSecret+3))
	if err != nil {
		return "", errors.New(plainError(err))
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	switch {
	case len(text) == 0:
		return "", errors.New("is empty")
	case len(text) > MaxSecret:
		return "", fmt.Errorf("has more than %d bytes", MaxSecret)
	}
	return string(text), nil
}
