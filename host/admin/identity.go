package admin

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
)

// serverName is the TLS name under which servers connect to each other. For it, a server has a
// certificate of its key in the registry in place of its certificate for callers. So servers need
// no common authority, and no certificate with their addresses.
const serverName = "server.wasmjobd.internal"

// certificateOf makes a certificate of the key of a server. Only the key in it is checked.
func certificateOf(own operator.OwnServer) (tls.Certificate, error) {
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{serverName}, NotAfter: time.Now().AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, own.Private.Public(), own.Private)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate of this server's key: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: own.Private}, nil
}

// keyShown is the Ed25519 key that the other end of a connection has proved to have, as the
// registry spells it; empty: it has none.
func keyShown(s tls.ConnectionState) string {
	if len(s.PeerCertificates) == 0 {
		return ""
	}
	key, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return ""
	}
	return hex.EncodeToString(key)
}

// identityTo is the TLS configuration of a server for a connection to another one: it has a
// certificate of its own key, and requires the key of the other one.
func identityTo(own operator.OwnServer, to operator.Server) (*tls.Config, error) {
	c, err := certificateOf(own)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: serverName, Certificates: []tls.Certificate{c},
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection looks at the key, which is all that counts
		VerifyConnection: func(s tls.ConnectionState) error {
			if keyShown(s) != to.Key {
				return errors.New("it does not have the key that the registry has for this address")
			}
			return nil
		},
	}, nil
}

// identityFrom is the TLS configuration for connections under serverName. Only servers of the cluster can connect,
// and each connection proves the key anew.
func identityFrom(servers Servers) (*tls.Config, error) {
	own, err := servers.Own()
	if err != nil {
		return nil, err
	}
	c, err := certificateOf(own)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c}, ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			_, err := servers.Server(keyShown(s))
			return err
		},
	}, nil
}
