package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// errRequest reports a request that does not follow ABI.md.
var errRequest = errors.New("the request cannot be read")

// parseRequest parses the text that a guest passes to http_request. It is strict,
// because a server could read an ambiguous request in the other way. Only the body
// refers to text afterwards.
func parseRequest(text []byte) (job.HTTPRequest, error) {
	var r job.HTTPRequest
	line, rest, err := cutHeadLine(text)
	if err != nil {
		return r, err
	}
	method, address, _ := strings.Cut(line, " ")
	if !validMethod(method) || !validURL(address) {
		return r, fmt.Errorf("%w: its first line is not METHOD URL", errRequest)
	}
	r.Method, r.URL = method, address
	for {
		if line, rest, err = cutHeadLine(rest); err != nil {
			return r, err
		}
		if len(text)-len(rest) > maxRequestHead {
			return r, fmt.Errorf("%w: its head has more than %d bytes", errRequest, maxRequestHead)
		}
		if line == "" {
			r.Body = rest
			return r, nil
		}
		name, value, ok := strings.Cut(line, ":")
		f := job.HTTPField{Name: name, Value: strings.Trim(value, " \t")}
		if !ok || !f.MayName() {
			return r, fmt.Errorf("%w: a header is not Name: value, or is reserved for the host", errRequest)
		}
		if len(r.Header) == maxHeaders {
			return r, fmt.Errorf("%w: it has more than %d headers", errRequest, maxHeaders)
		}
		if !f.MayHold() {
			return r, fmt.Errorf("%w: a header has a control character", errRequest)
		}
		r.Header = append(r.Header, f)
	}
}

// cutHeadLine cuts the first line off. A line without an end is an error.
func cutHeadLine(text []byte) (line string, rest []byte, err error) {
	at := bytes.IndexByte(text[:min(len(text), maxRequestHead)], '\n')
	if at < 0 {
		return "", nil, fmt.Errorf("%w: its head has no end", errRequest)
	}
	return strings.TrimSuffix(string(text[:at]), "\r"), text[at+1:], nil
}

func validMethod(s string) bool {
	return s != "" && len(s) <= 16 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// validURL reports whether s is a URL. Grants are checked elsewhere.
func validURL(s string) bool {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && u.Host != "" && u.Opaque == "" && u.User == nil
}

const secretMark, secretEnd = "{{secret:", "}}"

// errInserted reports that a request names too many secrets, or too long ones.
var errInserted = fmt.Errorf("the secrets in the headers have more than %d bytes in all", maxInserted)

// fillSecrets inserts secrets into the headers that name them, and returns how many
// bytes these have. It lists those fields, and fields in which the guest itself has
// written a secret, as private: a redirect must not send them to another host. Inserted
// secrets are not scanned again.
func (r *run) fillSecrets(req *job.HTTPRequest) (inserted int, err error) {
	for i, f := range req.Header {
		var b strings.Builder
		rest := f.Value
		for {
			before, after, ok := strings.Cut(rest, secretMark)
			b.WriteString(before)
			if !ok {
				break
			}
			name, behind, ok := strings.Cut(after, secretEnd)
			if !ok {
				return 0, fmt.Errorf("%w: %s without %s", errRequest, secretMark, secretEnd)
			}
			secret, ok := r.secret([]byte(name))
			if !ok {
				r.cause.grant = abi.GrantSecrets
				return 0, fmt.Errorf("secret %q in header %s: %w", readable(r.log.secrets.hideAll(name), maxShownName), f.Name, job.ErrDenied)
			}
			if inserted += len(secret); inserted > maxInserted {
				return 0, errInserted
			}
			b.WriteString(secret)
			rest = behind
		}
		value := b.String()
		if value != f.Value && !(job.HTTPField{Value: value}).MayHold() {
			return 0, fmt.Errorf("%w: the secret in header %s has a control character", errRequest, f.Name)
		}
		if value != f.Value || r.log.secrets.contains(value) {
			req.Private = append(req.Private, f.Name)
		}
		req.Header[i].Value = value
	}
	return inserted, nil
}

// secret returns a granted secret. The name is not copied, because it may be as long
// as the guest's memory.
func (r *run) secret(name []byte) (string, bool) {
	c := r.facts.call
	if !slices.ContainsFunc(c.Config.Allow.Secrets, func(s string) bool { return s == string(name) }) {
		return "", false
	}
	secret, ok := c.Secrets[string(name)]
	return secret, ok
}
