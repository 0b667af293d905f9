package peer

import (
	"net"
	"strings"
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/module"
)

// slotted gives its slot back when it is closed.
type slotted struct {
	net.Conn
	slots chan struct{}
	once  sync.Once
}

// Close implements net.Conn.
func (c *slotted) Close() error {
	c.once.Do(func() { <-c.slots })
	return c.Conn.Close() //nolint:wrapcheck // it stands for the connection itself
}

const folder = "/modules/"

func digestOf(path string) (string, bool) {
	digest, ok := strings.CutPrefix(path, folder)
	return digest, ok && module.CheckDigest(digest) == nil
}
