package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/reason"
)

// maxSession is the longest session that ZooKeeper can be asked for.
const maxSession = time.Hour

// system stands for the certificates that the machine trusts.
const system = "system"

// registry reads the table [registry].
func (b *builder) registry() {
	r := Registry{
		Kind:      get(b, Embedded, "registry.kind"),
		Namespace: get(b, "wasmjobd", "registry.namespace"),
		Layout:    get(b, b.layout, "registry.layout"),
	}
	switch name := strconv.Quote(r.Namespace); {
	case strings.Trim(r.Namespace, "/") != r.Namespace || !isPath("/"+r.Namespace) || clustertree.Reserved(r.Namespace):
		b.fault("registry", "namespace", "", reason.Of(reason.NamespaceInvalid, name))
	case r.Namespace == reserved || strings.HasPrefix(r.Namespace, reserved+"/"):
		b.fault("registry", "namespace", "", reason.Of(reason.NamespaceReserved, name))
	}
	switch {
	case b.values["registry.kind"].refused:
	case r.Kind == ZooKeeper:
		b.zookeeper(&r)
	default:
		b.onlyZooKeeper()
	}
	// Only a kind in the text decides which other keys it needs: the text of a job names no servers.
	if !b.isSet("registry.kind") {
		r.Kind = b.kind
	}
	b.file.Registry = r
}

// reserved is the node that ZooKeeper keeps for itself.
const reserved = "zookeeper"

// onlyZooKeeper reports keys that have no meaning for the embedded registry.
func (b *builder) onlyZooKeeper() {
	for _, key := range []string{"servers", "chroot", "session_timeout", "digest"} {
		if b.isSet("registry."+key) && !b.values["registry."+key].refused {
			b.fault("registry", key, "", reason.Of(reason.EmbeddedWithout, strings.ReplaceAll(key, "_", " ")))
		}
	}
	if at, ok := b.tls(); ok {
		b.report(at.problem("registry.tls", reason.Of(reason.EmbeddedWithout, "connections")))
	}
}

// tls returns the place of the table [registry.tls], or of its first key if only variables of the
// environment set it. It returns false if there is neither.
func (b *builder) tls() (place, bool) {
	if b.isTable("registry.tls") {
		return b.tables["registry.tls"], true
	}
	for _, key := range []string{"ca", "cert", "key", "server_name"} {
		if path := "registry.tls." + key; b.isSet(path) {
			return b.values[path].at, true
		}
	}
	return place{}, false
}

// zookeeper reads the keys that only ZooKeeper has.
func (b *builder) zookeeper(r *Registry) {
	r.Servers = get(b, []string(nil), "registry.servers")
	r.Chroot = get(b, "", "registry.chroot")
	r.SessionTimeout = get(b, defaultSession, "registry.session_timeout")
	b.servers(r.Servers)
	switch {
	case !b.isSet("registry.chroot") || b.values["registry.chroot"].refused:
	case !isPath(r.Chroot):
		b.fault("registry", "chroot", "", reason.Of(reason.ChrootInvalid, strconv.Quote(r.Chroot)))
	}
	switch {
	case !b.isSet("registry.session_timeout"):
	case r.SessionTimeout < time.Second:
		b.fault("registry", "session_timeout", "", reason.Of(reason.SessionTooShort))
	case r.SessionTimeout > maxSession:
		b.fault("registry", "session_timeout", "", reason.Of(reason.SessionTooLong))
	}
	if v := b.values["registry.digest"]; b.isSet("registry.digest") && !v.refused {
		r.Digest, _ = b.secret("registry", "digest", "", get(b, "", "registry.digest"))
	}
	r.TLS = b.registryTLS()
}

// servers checks the addresses in registry.servers. Elements that were already refused are not
// reported again.
func (b *builder) servers(servers []string) {
	if !b.isSet("registry.servers") || len(servers) == 0 && !b.values["registry.servers"].refused {
		at := b.values["registry.kind"].at // the kind requires the missing key
		if b.isSet("registry.servers") {
			at = b.values["registry.servers"].at
		}
		b.report(at.problem("registry.servers", reason.Of(reason.ServersMissing)))
		return
	}
	seen := map[string]bool{}
	for i, s := range servers {
		sub := "[" + strconv.Itoa(i) + "]"
		refuse := func(why reason.Reason) { b.fault("registry", "servers", sub, why) }
		switch {
		case b.faulty["registry.servers"+sub]: // already reported
		case strings.Contains(s, ","):
			refuse(reason.Of(reason.ServersInOne))
		case strings.Contains(s, "/"):
			refuse(reason.Of(reason.ServerWithPath, strconv.Quote(s)))
		case !isServer(s):
			refuse(reason.Of(reason.ServerInvalid, strconv.Quote(s)))
		case seen[s]:
			refuse(reason.Of(reason.ServerTwice, strconv.Quote(s)))
		}
		seen[s] = true
	}
}

// isServer reports whether s is host or host:port. No part of a bare IPv6 address is a port.
func isServer(s string) bool {
	if _, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return true
	}
	host := s
	if strings.Contains(s, ":") {
		name, port, err := net.SplitHostPort(s)
		if host = name; err != nil {
			return false
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return false
		}
	}
	return host != "" && !strings.ContainsFunc(host, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

// isPath reports whether path is absolute and clean, and contains only characters that
// ZooKeeper allows.
func isPath(path string) bool {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok || !utf8.ValidString(path) || strings.ContainsFunc(path, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Co) || r >= 0xfff0 }) {
		return false
	}
	for name := range strings.SplitSeq(rest, "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return true
}

// registryTLS parses [registry.tls]. ca is required, because a table without it would suggest a
// protection that does not exist.
func (b *builder) registryTLS() *TLS {
	at, ok := b.tls()
	if !ok {
		return nil
	}
	t := &TLS{
		CA: b.tlsFile("ca"), Cert: b.tlsFile("cert"), Key: b.tlsFile("key"),
		ServerName: get(b, "", "registry.tls.server_name"),
	}
	if !b.isSet("registry.tls.ca") {
		b.report(at.problem("registry.tls", reason.Of(reason.CAMissing)))
	}
	if get(b, "", "registry.tls.ca") == system {
		t.CA = ""
	}
	for _, pair := range [][2]string{{"cert", "key"}, {"key", "cert"}} { // each needs the other
		if b.isSet("registry.tls."+pair[0]) && !b.isSet("registry.tls."+pair[1]) {
			b.fault("registry.tls", pair[0], "", reason.Of(reason.PairIncomplete, pair[1]))
		}
	}
	if b.isSet("registry.tls.server_name") && t.ServerName == "" && !b.values["registry.tls.server_name"].refused {
		b.fault("registry.tls", "server_name", "", reason.Of(reason.ServerNameEmpty))
	}
	return t
}

// tlsFile returns the path of a file in [registry.tls], or "" if it is not set. It keeps the place
// of the key, for errors when the file is read.
func (b *builder) tlsFile(key string) string {
	path := "registry.tls." + key
	b.laid[path] = b.values[path].at
	if !b.isSet(path) {
		return ""
	}
	return b.path(path, "")
}

// Access holds the credentials that the registry requires of clients.
type Access struct {
	Digest string      // "user:password", or ""
	TLS    *tls.Config // nil: plain connections
}

// Access loads the credentials for [registry]: the digest from env, which has the form of
// os.Environ, or from its file, and the certificates from their files. The error is a Problems
// with everything that is missing.
func (f *File) Access(env []string) (Access, error) {
	var a Access
	var problems Problems
	absent := func(key string, err error) {
		problems = append(problems, f.absent("registry."+key, reason.NamedAbsent, err))
	}
	if s := f.Registry.Digest; s != (Secret{}) {
		digest, err := s.fetch(newEnvironment(env))
		if user, password, ok := strings.Cut(digest, ":"); err == nil && (!ok || user == "" || password == "") {
			err = errors.New("its value does not have the form user:password")
		}
		if err != nil {
			absent("digest", err)
		}
		a.Digest = digest
	}
	if t := f.Registry.TLS; t != nil {
		a.TLS = &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
		if t.CA != "" {
			a.TLS.RootCAs = x509.NewCertPool()
			text, err := readBounded(t.CA)
			switch {
			case err != nil:
				absent("tls.ca", errors.New("the file "+t.CA+" cannot be read: "+plainError(err)))
			case !a.TLS.RootCAs.AppendCertsFromPEM([]byte(text)):
				absent("tls.ca", errors.New("the file "+t.CA+" has no certificate in PEM"))
			}
		}
		if t.Cert != "" {
			pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
			if err != nil {
				absent("tls.cert", err)
			}
			a.TLS.Certificates = []tls.Certificate{pair}
		}
	}
	if len(problems) > 0 {
		return Access{}, problems
	}
	return a, nil
}
