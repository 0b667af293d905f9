package sandbox

import "golang.org/x/sys/unix"

// Reserved pages do not count against the commit limit until they are touched.
const mapNoReserve = unix.MAP_NORESERVE

// smallPages keeps the system from backing the first byte that is touched with two
// megabytes at once, which the budget would not know. A system without such
// pages refuses, and that is as well.
func smallPages(b []byte) { _ = unix.Madvise(b, unix.MADV_NOHUGEPAGE) }
