package peer

import (
	"net"
	"strings"
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/module"
)

// slotConn is a connection that frees its slot when it is closed.
type slotConn struct {
	net.Conn
	slots chan struct{}
	once  sync.Once
}

func (c *slotConn) Close() error {
	c.once.Do(func() { <-c.slots })
	return c.Conn.Close() //nolint:wrapcheck // it behaves like the connection itself
}

const modulesPath = "/modules/"

func digestOf(path string) (string, bool) {
	digest, ok := strings.CutPrefix(path, modulesPath)
	return digest, ok && module.CheckDigest(digest) == nil
}
