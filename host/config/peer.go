package config

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Peers holds the settings in [server] about the exchange of modules between servers.
type Peers struct {
	Listen  string // host:port where this server serves modules to others; "": nowhere
	Address string // host:port at which others reach it; "": like Listen
	Token   Secret // shared by all servers; loaded by File.PeerToken
}

// peers reads the keys of [server] that begin with "peer". With an embedded registry there are no
// other servers. An address that other machines can reach needs a token.
func (b *builder) peers() Peers {
	p := Peers{Listen: get(b, "", "server.peer_listen"), Address: get(b, "", "server.peer_address")}
	if b.file.Registry.Kind == Embedded && !b.values["registry.kind"].refused {
		for _, key := range []string{"peer_listen", "peer_address", "peer_token"} {
			if path := "server." + key; b.isSet(path) && !b.values[path].refused {
				b.fault("server", key, "", reason.Of(reason.PeersOfOne))
			}
		}
		return Peers{}
	}
	for key, valid := range map[string]bool{
		"peer_listen": isEndpoint(p.Listen),
		// Others reach neither port 0 nor an address without a host.
		"peer_address": isEndpoint(p.Address) && isServer(p.Address) && !strings.ContainsAny(p.Address, `/@?#\`),
	} {
		if path := "server." + key; b.isSet(path) && !b.values[path].refused && !valid {
			b.fault("server", key, "", reason.Of(reason.EndpointInvalid, strconv.Quote(get(b, "", path))))
		}
	}
	if v := b.values["server.peer_token"]; b.isSet("server.peer_token") && !v.refused {
		p.Token, _ = b.secret("server", "peer_token", "", get(b, "", "server.peer_token"))
	}
	switch {
	case !b.isSet("server.peer_listen"):
		if b.isSet("server.peer_address") {
			b.fault("server", "peer_address", "", reason.Of(reason.PeerListenMissing))
		}
	case !b.isSet("server.peer_token") && isEndpoint(p.Listen) && !isLoopback(p.Listen):
		b.fault("server", "peer_listen", "", reason.Of(reason.PeerTokenMissing))
	}
	return p
}

// isEndpoint reports whether s is host:port. The host may be empty.
func isEndpoint(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// isLoopback reports whether only this machine can reach an address host:port.
func isLoopback(endpoint string) bool {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// PeerToken returns the secret with which servers fetch modules from each other; "" if there is
// none. The error is a Problems.
func (f *File) PeerToken(env []string) (string, error) {
	if f.Server.Peers.Token == (Secret{}) {
		return "", nil
	}
	token, err := f.Server.Peers.Token.fetch(newEnvironment(env))
	if err != nil {
		return "", Problems{f.absent("server.peer_token", reason.NamedAbsent, err)}
	}
	return token, nil
}
