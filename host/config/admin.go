package config

import (
	"strconv"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Admin is the table [admin]: where callers with tokens reach the server.
type Admin struct {
	Listen string // host:port; "": nowhere
	// TLS names the files of [admin.tls]; the zero value: connections are plain, and
	// Listen is an address of this machine alone.
	TLS AdminTLS
}

// AdminTLS names files in PEM.
type AdminTLS struct {
	Cert, Key string // of the server
	ClientCA  string // who signs the certificates of clients; "": they need none
}

func (b *builder) admin() Admin {
	a := Admin{Listen: get(b, "", "admin.listen")}
	at, secured := b.admissionTLS()
	if secured {
		a.TLS = AdminTLS{Cert: b.adminFile("cert"), Key: b.adminFile("key"), ClientCA: b.adminFile("client_ca")}
		for _, key := range []string{"cert", "key"} {
			if !b.isSet("admin.tls." + key) {
				b.report(at.problem("admin.tls", reason.Of(reason.AdminPairMissing, key)))
			}
		}
	}
	switch {
	case b.values["admin.listen"].refused:
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

// admissionTLS returns the place of the table [admin.tls], or of the first of its keys
// if variables set them alone.
func (b *builder) admissionTLS() (place, bool) {
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

// adminFile is the path of one of the files of [admin.tls]; "" if it is not set.
func (b *builder) adminFile(key string) string {
	if path := "admin.tls." + key; b.isSet(path) {
		return b.path(path, "")
	}
	return ""
}
