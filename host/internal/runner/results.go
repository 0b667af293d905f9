package runner

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// resultText holds the parts of an attempt's row that the registry does not keep.
type resultText struct {
	result, fault, digest, taskID string
	code                          int32
	hasCode                       bool
	start, end, fence, fuel       int64
	flow                          job.Flow
	metrics                       string // a JSON object
	log                           string // the last lines that the guest logged
}

// resultTexts holds the texts of ended guests until their rows are stored. It outlives
// sessions, because the next member of this process may write the row. If the texts
// exceed maxResultTexts, it drops the oldest.
type resultTexts struct {
	mu    sync.Mutex // guards the fields below: guests put, the history gets
	texts map[attemptKey]resultText
	order []attemptKey // in the order of put; some may be dropped already
	size  int          // in bytes
}

// attemptKey identifies an attempt within its job.
type attemptKey struct {
	item    int
	run     string
	attempt int
}

// maxResultTexts bounds the result texts of a job, in bytes.
const maxResultTexts = 64 << 20

// attemptKeyOf returns the key of an entry's attempt.
func attemptKeyOf(e protocol.Entry) attemptKey { return attemptKey{e.Item, e.Run(), e.Attempt} }

// bytes returns roughly the memory that a text takes.
func (t resultText) bytes() int {
	return 256 + len(t.result) + len(t.fault) + len(t.metrics) + len(t.log)
}

// metricsText returns the sums of a guest as a JSON object, or "" if there are none.
func metricsText(sums map[string]float64) string {
	if len(sums) == 0 {
		return ""
	}
	b, err := json.Marshal(sums)
	if err != nil { // a sum is infinite or NaN
		return ""
	}
	return string(b)
}

// put keeps the text of an attempt that has ended.
func (k *resultTexts) put(e protocol.Entry, t resultText) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.texts == nil {
		k.texts = map[attemptKey]resultText{}
	}
	key := attemptKeyOf(e)
	k.remove(key)
	k.texts[key] = t
	k.size += t.bytes()
	k.order = append(k.order, key)
	for k.size > maxResultTexts {
		k.remove(k.order[0])
		k.order = k.order[1:]
	}
	if len(k.order) > 2*len(k.texts)+64 { // most of order was dropped
		k.order = slices.DeleteFunc(k.order, func(key attemptKey) bool {
			_, there := k.texts[key]
			return !there
		})
	}
}

// remove removes a text, but not its place in order. mu is held.
func (k *resultTexts) remove(key attemptKey) {
	if t, ok := k.texts[key]; ok {
		k.size -= t.bytes()
		delete(k.texts, key)
	}
}

// get returns the text of an attempt, if there is one.
func (k *resultTexts) get(e protocol.Entry) (resultText, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.texts[attemptKeyOf(e)]
	return t, ok
}

// drop removes the text of an attempt whose row is stored.
func (k *resultTexts) drop(e protocol.Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remove(attemptKeyOf(e))
}

// printable returns a result as text that the history takes.
func printable(result []byte) string { return strings.ToValidUTF8(string(result), "\uFFFD") }
