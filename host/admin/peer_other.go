//go:build !linux

package admin

import "net"

// peerOf is not known on this system.
func peerOf(net.Conn) string { return "" }
