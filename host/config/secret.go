package config

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Secret says where a secret comes from. It does not contain the secret.
type Secret struct {
	Name string // in [host.secrets]
	Env  string // the variable that contains it, or
	File string // the file
}

// MaxSecret is the longest secret, in bytes.
const MaxSecret = 64 << 10

// secrets reads the table [host.secrets].
func (b *builder) secrets() []Secret {
	const table = "host.secrets"
	texts := get(b, map[string]string(nil), table)
	var secrets []Secret
	for _, name := range sortedNames(texts) {
		sub := "." + quoteKey(name)
		if !isName(name) {
			b.fault("host", "secrets", sub, reason.Of(reason.SecretName))
			continue
		}
		if s, ok := b.secret("host", "secrets", sub, texts[name]); ok {
			s.Name = name
			secrets = append(secrets, s)
		}
	}
	return secrets
}

// secret parses "env:NAME" or "file:path", the text of a table's key or of its part sub. Any other
// text may be the secret itself, so no message repeats it. secret keeps the place of the text, for
// errors when the secret is loaded, and returns false after a fault.
func (b *builder) secret(table, key, sub, text string) (Secret, bool) {
	path := joinPath(table, key)
	at := b.values[path].at
	if inside, ok := b.values[path].inside[sub]; ok {
		at = inside
	}
	b.laid[path+sub] = at
	kind, from, _ := strings.Cut(text, ":")
	switch {
	case kind == "env" && isVariable(from):
		return Secret{Env: from}, true
	case kind == "env":
		b.fault(table, key, sub, reason.Of(reason.SecretVariable))
	case kind == "file" && from != "":
		return Secret{File: b.resolve(at, from)}, true
	default:
		b.fault(table, key, sub, reason.Of(reason.SecretWritten))
	}
	return Secret{}, false
}

// Secrets loads the values of all secrets, by name: from env, which has the form of os.Environ,
// or from their files, without a final line end. The error is a Problems with every secret that
// is missing.
func (f *File) Secrets(env []string) (map[string]string, error) {
	variables := newEnvironment(env)
	values := make(map[string]string, len(f.Host.Secrets))
	var problems Problems
	for _, s := range f.Host.Secrets {
		value, err := s.fetch(variables)
		if err != nil {
			problems = append(problems, f.absent(joinKey("host.secrets", s.Name), reason.SecretAbsent, err))
			continue
		}
		values[s.Name] = value
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return values, nil
}

// SecretSums returns digests of the present values of the secrets that a server reads when it
// starts, by key. The digest of a missing secret is zero.
func (f *File) SecretSums(env []string) map[string][sha256.Size]byte {
	variables := newEnvironment(env)
	sums := map[string][sha256.Size]byte{}
	add := func(key string, s Secret) {
		if s == (Secret{}) {
			return
		}
		sums[key] = [sha256.Size]byte{}
		if value, err := s.fetch(variables); err == nil {
			sums[key] = sha256.Sum256([]byte(value))
		}
	}
	for _, s := range f.Host.Secrets {
		add(joinKey("host.secrets", s.Name), s)
	}
	for _, n := range f.Notify {
		path := joinKey("notify", n.Name)
		add(path+".webhook", n.Webhook)
		add(path+".key", n.Key)
		add(path+".mail.password", n.Mail.Password)
	}
	add("registry.digest", f.Registry.Digest)
	add("server.peer_token", f.Server.Peers.Token)
	add("history.password", f.History.Password)
	return sums
}

// JobProblem returns the problem of a job's key, at its place or, if that is not known, at the
// job's.
func (f *File) JobProblem(name, key string, why reason.Reason) Problem {
	table := joinKey("jobs", name)
	if at, ok := f.laid[table+"."+key]; ok {
		return at.problem(table+"."+key, why)
	}
	return f.named[table].problem(table, why)
}

// absent returns the problem of something that the file names and that is missing or invalid.
func (f *File) absent(path string, code reason.Code, err error) Problem {
	return f.laid[path].problem(path, reason.Of(code, err.Error()))
}

// fetch loads the secret from its variable or its file.
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

// read returns the content of the secret's file without a final line end. Its errors go on from
// "the file NAME".
func (s Secret) read() (string, error) {
	// Opening a pipe might wait for a writer for ever.
	if info, err := os.Stat(s.File); err == nil && !info.Mode().IsRegular() {
		return "", errors.New("is not a regular file")
	}
	f, err := os.Open(s.File)
	if err != nil {
		return "", errors.New("cannot be read: " + plainError(err))
	}
	defer f.Close() //nolint:errcheck // it was only read from
	// 2 bytes are for the line end, and 1 shows that it is too long.
	text, err := io.ReadAll(io.LimitReader(f, MaxSecret+3))
	if err != nil {
		return "", errors.New("cannot be read: " + plainError(err))
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
