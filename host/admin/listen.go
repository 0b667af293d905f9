package admin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// TLS names the files of a listener's certificate. The zero value is no TLS.
type TLS struct {
	Cert, Key string
	// ClientCA has the authorities that sign the certificates of clients; "": clients need
	// none.
	ClientCA string
}

// ListenTCP listens at an address, host:port. Without TLS, it refuses an address that other
// machines can reach. A changed certificate is used from the next connection on. servers has
// the servers of the cluster, which use certificates of their own among each other; nil: there
// are none.
func ListenTCP(ctx context.Context, address string, files TLS, servers Servers, log *slog.Logger) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for operators: %w", err)
	}
	if files == (TLS{}) {
		if !isLoopback(l.Addr()) {
			return nil, errors.Join(fmt.Errorf("listen for operators at %s: others can connect there, and would see tokens; use TLS, or 127.0.0.1", l.Addr()), l.Close())
		}
		return l, nil
	}
	c := &certificates{files: files, servers: servers, log: log}
	if err := c.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for operators: %w", err), l.Close())
	}
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: c.forClient}), nil
}

// certificates has the TLS configuration of a listener, as last read from its files.
type certificates struct {
	files   TLS
	servers Servers
	log     *slog.Logger

	mu     sync.Mutex
	stamps [3]stamp    // of the files when they were read, guarded by mu
	config *tls.Config // guarded by mu
}

// stamp changes with a file.
type stamp struct {
	size int64
	at   time.Time
}

// forClient returns the configuration for a connection. If changed files cannot be
// used, the earlier ones stay.
func (c *certificates) forClient(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if hello.ServerName == serverName && c.servers != nil {
		return identityFrom(c.servers)
	}
	if c.changed() {
		if err := c.load(); err != nil {
			c.log.Error("the certificate for operators has changed and cannot be used; the earlier one stays", "error", err)
		} else {
			c.log.Info("the certificate for operators has changed and is used", "cert", c.files.Cert)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.config, nil
}

// changed reports whether a file has changed since load.
func (c *certificates) changed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stamps != c.stampsNow()
}

// stampsNow returns the stamps of the files as they are now; zero for one that is not there.
func (c *certificates) stampsNow() (all [3]stamp) {
	for i, name := range []string{c.files.Cert, c.files.Key, c.files.ClientCA} {
		if info, err := os.Stat(name); err == nil {
			all[i] = stamp{info.Size(), info.ModTime()}
		}
	}
	return all
}

// load reads the files. After an error, they are read again only when they change.
func (c *certificates) load() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stamps = c.stampsNow()
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("read the certificate %s and its key %s: %w", c.files.Cert, c.files.Key, withoutText(err))
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if c.files.ClientCA != "" {
		text, err := os.ReadFile(c.files.ClientCA)
		if err != nil {
			return fmt.Errorf("read the authorities of clients: %w", err)
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !config.ClientCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("%s has no certificate in PEM", c.files.ClientCA)
		}
	}
	c.config = config
	return nil
}

// withoutText replaces an error that may show parts of a key. It keeps only errors about paths.
func withoutText(err error) error {
	if errors.As(err, new(*fs.PathError)) {
		return err
	}
	return errors.New("they are not a certificate and its key in PEM")
}
