package admin

import (
	"net"
	"os/user"
	"strconv"
	"syscall"
)

// peerOf returns the name of the user at the other end of a socket, as the system has it,
// or "".
func peerOf(c net.Conn) string {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return ""
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return ""
	}
	var peer *syscall.Ucred
	var fault error
	err = raw.Control(func(fd uintptr) {
		peer, fault = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil || fault != nil {
		return ""
	}
	id := strconv.FormatUint(uint64(peer.Uid), 10)
	if known, err := user.LookupId(id); err == nil && known.Username != "" {
		return known.Username
	}
	return "user " + id
}
