package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// facts is what a guest may ask about its run.
type facts struct {
	call     job.Call
	digest   string
	seed     [32]byte
	deadline time.Time // zero: none
	fired    time.Time
	json     []byte // made when first asked for
}

func newFacts(c job.Call, digest string, fired, deadline time.Time) *facts {
	f := &facts{call: c, digest: digest, fired: fired, deadline: deadline}
	// The same run and item get the same seed in every attempt, so that a
	// guest without real random numbers can be run again exactly.
	f.seed = sha256.Sum256([]byte(c.Config.Name + "\x00" + c.RunID + "\x00" + strconv.Itoa(c.Item)))
	if !realClock(c) {
		// A guest without a clock must not learn the time in another way.
		f.fired = c.Scheduled
		if !deadline.IsZero() {
			f.deadline = c.Scheduled.Add(deadline.Sub(fired))
		}
	}
	return f
}

func realClock(c job.Call) bool { return c.Config.Allow.Clock == "real" }

// text answers a field that is text: its value, or one of the ABI's errors.
func (f *facts) text(field uint32) (string, int32) {
	c := f.call
	switch field {
	case abi.FieldJobName:
		return c.Config.Name, 0
	case abi.FieldTaskID:
		return c.TaskID, 0
	case abi.FieldJobParam:
		return c.Config.Param, 0
	case abi.FieldShardingParam:
		if !c.HasItemParam {
			return "", abi.ErrNotFound
		}
		return c.ItemParam, 0
	case abi.FieldInstanceID:
		return string(c.Instance), 0
	case abi.FieldNamespace:
		return "", abi.ErrNotFound // a call does not carry it yet
	case abi.FieldModuleDigest:
		return f.digest, 0
	case abi.FieldSeed:
		return hex.EncodeToString(f.seed[:]), 0
	case abi.FieldRunID:
		return c.RunID, 0
	}
	return "", abi.ErrUnknownField
}

// number answers a field that is a number.
func (f *facts) number(field uint32) int64 {
	c := f.call
	switch field {
	case abi.FieldShardingTotal:
		return int64(c.Total)
	case abi.FieldShardingItem:
		return int64(c.Item)
	case abi.FieldFireTime:
		return millis(f.fired)
	case abi.FieldDeadline:
		return millis(f.deadline)
	case abi.FieldAttempt:
		return int64(c.Attempt)
	case abi.FieldFailover:
		return bit(c.Failover)
	case abi.FieldMisfire:
		return bit(c.Misfire)
	case abi.FieldHostMinor:
		return abi.HostMinor
	case abi.FieldStreaming:
		return 0
	case abi.FieldFence:
		return c.Fence
	case abi.FieldScheduledTime:
		return millis(c.Scheduled)
	}
	return abi.NoInt
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// document is the whole context as one JSON text. Up to shardingParameter it
// is, byte for byte, what a Java member writes with Gson; a guest ported from
// there may depend on it.
func (f *facts) document() []byte {
	if f.json != nil {
		return f.json
	}
	c := f.call
	var b bytes.Buffer
	b.WriteString(`{"jobName":` + gson(c.Config.Name))
	b.WriteString(`,"taskId":` + gson(c.TaskID))
	b.WriteString(`,"shardingTotalCount":` + strconv.Itoa(c.Total))
	b.WriteString(`,"jobParameter":` + gson(c.Config.Param))
	b.WriteString(`,"shardingItem":` + strconv.Itoa(c.Item))
	if c.HasItemParam {
		b.WriteString(`,"shardingParameter":` + gson(c.ItemParam))
	}
	b.WriteString(`,"wasmjob":{"runId":` + gson(c.RunID))
	b.WriteString(`,"attempt":` + strconv.Itoa(c.Attempt))
	b.WriteString(`,"scheduledTime":` + strconv.FormatInt(millis(c.Scheduled), 10))
	b.WriteString(`,"fence":` + strconv.FormatInt(c.Fence, 10))
	b.WriteString(`,"items":{`)
	items := slices.Clone(c.Items)
	slices.Sort(items)
	for i, item := range slices.Compact(items) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + strconv.Itoa(item) + `":`)
		if p, ok := c.Params[item]; ok {
			b.WriteString(gson(p))
		} else {
			b.WriteString("null")
		}
	}
	b.WriteString("}}}")
	f.json = b.Bytes()
	return f.json
}

// gson quotes a string as Gson does: like Go, and = and ' are escaped too, and
// the character for broken text, which is all that Java would see of it, is not.
func gson(s string) string {
	b, err := json.Marshal(strings.ToValidUTF8(s, "\ufffd"))
	if err != nil { // never for a string
		return `""`
	}
	b = bytes.ReplaceAll(b, []byte("="), []byte(`\u003d`))
	b = bytes.ReplaceAll(b, []byte("'"), []byte(`\u0027`))
	return string(b)
}
