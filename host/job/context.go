package job

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// JSON returns the call as one text for scripts and commands, which cannot call host functions.
// Up to shardingParameter it equals, byte for byte, what ElasticJob writes with Gson, since a
// script written for ElasticJob may depend on it.
func (c Call) JSON() []byte {
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
	var scheduled int64
	if !c.Scheduled.IsZero() {
		scheduled = c.Scheduled.UnixMilli()
	}
	b.WriteString(`,"scheduledTime":` + strconv.FormatInt(scheduled, 10))
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
	return b.Bytes()
}

// gson quotes a string like Gson. It differs from Go: = and ' are escaped, and U+FFFD is not,
// which is how Java shows invalid UTF-8.
func gson(s string) string {
	b, err := json.Marshal(strings.ToValidUTF8(s, "\ufffd"))
	if err != nil { // cannot fail for a string
		return `""`
	}
	b = bytes.ReplaceAll(b, []byte("="), []byte(`\u003d`))
	b = bytes.ReplaceAll(b, []byte("'"), []byte(`\u0027`))
	return string(b)
}
