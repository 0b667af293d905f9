package config

import (
	"strconv"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Admin is the table [admin]: the address at which callers with tokens reach the server.
type Admin struct {
	Listen string // host:port; "": the server has no API
	// TLS has the files of [admin.tls]. With the zero value, connections are plain, and only
	// this machine can reach Listen.
	TLS AdminTLS
}

// AdminTLS has paths of PEM files.
type AdminTLS struct {
	Cert, Key string // of the server
	ClientCA  string // authority that signs the certificates of clients; "": clients need none
}

// admin reads the table [admin]. Tokens must not be sent in the clear, so an address that other
// machines can reach needs TLS.
func (b *builder) admin() Admin {
	a := Admin{Listen: get(b, "", "admin.listen")}
	at, secured := b.adminTLS()
	if secured {
		a.TLS = AdminTLS{Cert: b.adminFile("cert"), Key: b.adminFile("key"), ClientCA: b.adminFile("client_ca")}
		for _, key := range []string{"cert", "key"} {
			if !b.isSet("admin.tls." + key) {
				b.report(at.problem("admin.tls", reason.Of(reason.AdminPairMissing, key)))
			}
		}
	}
	switch {
	case b.values["admin.listen"].refused: // already reported
	case !b.isSet("admin.listen"):
		if secured {
			b.report(at.problem("admin.tls", reason.Of(reason.AdminListenMissing)))
		}
	case !isEndpoint(a.Listen):
		b.fault("admin", "listen", "", reason.Of(reason.AdminEndpoint, strconv.Quote(a.Listen)))
	case !secured && !isLoopback(a.Listen):
		b.fault("admin", "listen", "", reason.Of(reason.AdminTLSMissing))
	}
	return a
}

// adminTLS returns the place of the table [admin.tls], or of its first key if only variables of
// the environment set it. It returns false if there is neither.
func (b *builder) adminTLS() (place, bool) {
	if b.isTable("admin.tls") {
		return b.tables["admin.tls"], true
	}
	for _, key := range []string{"cert", "key", "client_ca"} {
		if path := "admin.tls." + key; b.isSet(path) {
			return b.values[path].at, true
		}
	}
	return place{}, false
}

// adminFile returns the path of a file in [admin.tls], or "" if it is not set.
func (b *builder) adminFile(key string) string {
	if path := "admin.tls." + key; b.isSet(path) {
		return b.path(path, "")
	}
	return ""
}
