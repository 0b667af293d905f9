package spelling

import (
	"math"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

const (
	// MaxBytes bounds the nodes and values of one transaction, as it is sent. ZooKeeper
	// closes a connection that sends 1 MiB; the difference is for checks of other nodes.
	MaxBytes = 900 << 10
	// MaxValues is the part of MaxBytes for values of ours: a record and an assignment.
	MaxValues = 250 << 10
)

// The core declares these, since it relies on them.
const (
	maxRanges  = protocol.MaxRanges
	maxMoments = protocol.MaxMoments
)

// MaxItems bounds the memory that a foreign node can make us allocate.
const MaxItems = 100_000

// ItemNumber returns the number of an item by the name of its node. It refuses other
// spellings of a number, such as 01, since no member writes such a node.
func ItemNumber(s string) (int, bool) {
	i, err := strconv.Atoi(s)
	if err != nil || i < 0 || i >= MaxItems || strconv.Itoa(i) != s {
		return 0, false
	}
	return i, true
}

// Minutes returns n minutes; none if n is negative. It bounds n, since Java's largest
// number of minutes is longer than a Duration.
func Minutes(n int32) time.Duration {
	return time.Duration(max(0, min(int64(n), math.MaxInt64/int64(time.Minute)))) * time.Minute
}
