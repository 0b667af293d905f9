package servertree

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
)

// The statuses of a member. Without the node the member is not there.
const (
	Ready   = "READY"
	RunsNow = "RUNNING"
)

// maxText bounds a value that is not a text of the job.
const maxText = 1 << 20

// ParseItems reads the items of a server, in order. An empty text has none.
func ParseItems(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > maxText {
		return nil, fmt.Errorf("a list of %d bytes, more than %d", len(text), maxText)
	}
	var items []int
	seen := map[int]bool{}
	for name := range strings.SplitSeq(text, ",") {
		i, ok := spelling.ItemNumber(name)
		if !ok {
			return nil, fmt.Errorf("%.50q is no item: expected numbers below %d, divided by commas", name, spelling.MaxItems)
		}
		if seen[i] {
			return nil, fmt.Errorf("item %d is there twice", i)
		}
		seen[i] = true
		items = append(items, i)
	}
	return items, nil
}

// FormatItems writes what ParseItems reads.
func FormatItems(items []int) string {
	var b []byte
	for k, i := range items {
		if k > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(i), 10)
	}
	return string(b)
}

// ParseMillis reads a moment, in milliseconds since 1970, or a count. It refuses other
// spellings of the number, which members do not write.
func ParseMillis(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return 0, fmt.Errorf("%.50q: expected digits alone", text)
	}
	return n, nil
}

// ParseAddress reads the address of a server, which is its name in these layouts.
func ParseAddress(text string) (string, error) {
	a, err := netip.ParseAddr(text)
	if err != nil || !a.Is4() {
		return "", fmt.Errorf("%.50q is no IPv4 address", text)
	}
	return text, nil
}

// Check returns what is wrong with the data of a node of this row; nil if nothing is.
func (n Node) Check(data string) error {
	var err error
	switch n.Value {
	case Text:
	case Empty:
		if data != "" {
			err = fmt.Errorf("%.50q: expected nothing", data)
		}
	case State:
		if data != Ready && data != RunsNow {
			err = fmt.Errorf("%.50q: expected %s or %s", data, Ready, RunsNow)
		}
	case Items:
		_, err = ParseItems(data)
	case Number, Millis:
		_, err = ParseMillis(data)
	case Addr:
		_, err = ParseAddress(data)
	}
	return err
}
