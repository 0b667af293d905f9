package sandbox

import (
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// mapNoReserve excludes reserved pages from the commit limit until they are touched.
const mapNoReserve = unix.MAP_NORESERVE

// smallPages prevents the kernel from backing the first touched byte with a huge
// page of two megabytes, which the budget would not count.
func smallPages(b []byte) {
	if hugePages() {
		_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE) // cannot fail if the kernel has huge pages
	}
}

// hugePages reports whether the kernel uses huge pages without being asked.
var hugePages = sync.OnceValue(func() bool {
	text, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil && strings.Contains(string(text), "[always]")
})
