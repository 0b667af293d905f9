package sandbox

import "golang.org/x/sys/unix"

// Reserved pages do not count against the commit limit until they are touched.
const mapNoReserve = unix.MAP_NORESERVE
