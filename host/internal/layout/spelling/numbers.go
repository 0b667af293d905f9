package spelling

import (
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

const (
	// MaxBytes is the size that the nodes and values of one transaction may have
	// together, as it is sent. ZooKeeper closes a connection that sends 1 MiB; the rest
	// is left for the checks of other nodes.
	MaxBytes = 900 << 10
	// MaxValues is the part of it that is left to values of ours: a record and
	// an assignment.
	MaxValues = 250 << 10
)

// maxRanges and maxMoments are where the core counts on them.
const (
	maxRanges  = protocol.MaxRanges
	maxMoments = protocol.MaxMoments
)

// MaxItems bounds what a foreign node can make us allocate.
const MaxItems = 100_000

// ItemNumber reads the name of an item; other names are not ours to touch.
func ItemNumber(s string) (int, bool) {
	i, err := strconv.Atoi(s)
	if err != nil || i < 0 || i >= MaxItems || strconv.Itoa(i) != s {
		return 0, false
	}
	return i, true
}
