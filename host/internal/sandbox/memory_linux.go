package sandbox

import (
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Reserved pages do not count against the commit limit until they are touched.
const mapNoReserve = unix.MAP_NORESERVE

// smallPages keeps the system from backing the first byte that is touched with
// two megabytes at once, which the budget would not know.
func smallPages(b []byte) {
	if hugePages() {
		_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE) // there are such pages, so this is known
	}
}

// hugePages tells whether the system does so without being asked.
var hugePages = sync.OnceValue(func() bool {
	text, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil && strings.Contains(string(text), "[always]")
})
