// Package oci pulls modules from registries of OCI artifacts, and pushes them there. It is not
// for images, and it verifies no signatures: its callers do.
//
// A registry is not trusted. Sizes are limited before anything is read, and bytes are checked
// against their digests. Plain HTTP is only for loopback, also after redirects. Credentials go
// only to the requested registry, or to the place where it has them exchanged for a token.
//
// Flow: Parse reads a reference → Client.Pull fetches the manifest and its one layer, or
// Client.Push creates them. A signature is an annotation of the layer.
package oci

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"oras.land/oras-go/v2/registry"
)

// Scheme begins a reference.
const Scheme = "oci://"

// maxReference is the limit of a reference, in bytes.
const maxReference = 512

// Reference is where an artifact is.
type Reference struct {
	Host       string // with the port, if there is one
	Repository string
	Tag        string // may be "" if there is a Digest
	Digest     string // of the manifest, as sha256:HEX; "": the manifest that has the tag
}

// Is reports whether a text is meant to be a reference.
func Is(text string) bool { return strings.HasPrefix(text, Scheme) }

// ErrCredentials is the error for a reference with credentials, which it does not repeat.
var ErrCredentials = errors.New("a reference to an artifact has credentials before its host, so it is not shown; remove them, and use docker login, or OCI_USER and OCI_PASSWORD")

// Parse parses a reference, as oci://registry.example/report:1.4.0@sha256:…. It refuses one without tag
// and digest.
func Parse(text string) (Reference, error) {
	rest, ok := strings.CutPrefix(text, Scheme)
	if !ok || len(text) > maxReference {
		return Reference{}, invalid(text, errors.New("it does not begin with oci://, or is too long"))
	}
	// A digest has an @ before it, too, but after the path, and no slash behind it.
	if user, after, found := strings.Cut(rest, "@"); found && (!strings.Contains(user, "/") || strings.Contains(after, "/")) {
		return Reference{}, ErrCredentials
	}
	rest, digest, pinned := strings.Cut(rest, "@")
	host, path, _ := strings.Cut(rest, "/")
	repository, tag := path, ""
	if i := strings.LastIndex(path, ":"); i >= 0 {
		repository, tag = path[:i], path[i+1:]
	}
	r := Reference{host, repository, tag, digest}
	for _, reference := range []string{tag, digest} { // "" is valid
		one := registry.Reference{Registry: host, Repository: repository, Reference: reference}
		if err := one.Validate(); err != nil {
			return Reference{}, invalid(text, err)
		}
	}
	hex, sha256 := strings.CutPrefix(digest, "sha256:")
	switch {
	case strings.Contains(tag, ":") || tag == "" && !pinned:
		return Reference{}, invalid(text, errors.New("it has no tag"))
	case pinned && (!sha256 || len(hex) != 64 || strings.Trim(hex, "0123456789abcdef") != ""):
		return Reference{}, invalid(text, errors.New("its digest is not a SHA-256"))
	}
	return r, nil
}

// invalid is the error for a text that is not a reference.
func invalid(text string, why error) error {
	return fmt.Errorf("%.100q is not a reference to an artifact: %w; write oci://registry.example/report:1.4.0, and @sha256:… after that to pin it", text, why)
}

// String returns the text that Parse parses.
func (r Reference) String() string {
	text := Scheme + r.Host + "/" + r.Repository
	if r.Tag != "" {
		text += ":" + r.Tag
	}
	if r.Digest != "" {
		text += "@" + r.Digest
	}
	return text
}

// local reports whether the registry is on this machine.
func (r Reference) local() bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	at, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && at.IsLoopback()
}
