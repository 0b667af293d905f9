package clustertree

import (
	"fmt"
	"strconv"
	"strings"
)

// Bounds of the audit. If there are more rows than MaxRows, the oldest are deleted.
const (
	MaxRows   = 1000
	maxWho    = 160
	maxVerb   = 40
	maxJob    = 300
	maxDetail = 400
	maxValue  = 300
	// maxRow bounds the text of a row.
	maxRow = 2 << 10
)

// digits is how many digits the service appends to the name of a sequential node.
const digits = 10

// Row is one change and its caller. The time is that of the node.
type Row struct {
	V       int    `json:"v"`
	Who     string `json:"who"`
	Way     string `json:"way"`            // how the caller came in
	Role    string `json:"role,omitempty"` // of the caller's token
	Verb    string `json:"verb"`
	Job     string `json:"job,omitempty"`
	Detail  string `json:"detail,omitempty"` // parameters
	Before  string `json:"before,omitempty"`
	After   string `json:"after,omitempty"`
	Request string `json:"request,omitempty"` // id of the request, as the log has it
}

// Encode returns the value of the row's node. Texts that are too long end in "…".
func (r Row) Encode() []byte {
	r = r.bounded()
	r.V = version
	return encode(r)
}

// bounded returns the row with its texts cut to their bounds.
func (r Row) bounded() Row {
	return Row{
		V: r.V, Who: short(r.Who, maxWho), Way: short(r.Way, maxVerb), Role: short(r.Role, maxRole), Verb: short(r.Verb, maxVerb), Job: short(r.Job, maxJob),
		Detail: short(r.Detail, maxDetail), Before: short(r.Before, maxValue), After: short(r.After, maxValue), Request: short(r.Request, maxWho),
	}
}

// DecodeRow reads the value of a row's node.
func DecodeRow(data []byte) (Row, error) {
	var r Row
	if err := decode(data, maxRow, &r, &r.V); err != nil {
		return Row{}, err
	}
	if r != r.bounded() {
		return Row{}, fmt.Errorf("a part of it is longer than this release writes")
	}
	return r, nil
}

// RowNumber returns the number in the name of a row's node; false if it is not such a name.
// The numbers grow by one.
func RowNumber(name string) (int64, bool) {
	text, ok := strings.CutPrefix(name, AuditPrefix)
	n, err := strconv.ParseInt(text, 10, 64)
	return n, ok && err == nil && n >= 0 && RowName(n) == name
}

// RowName returns the name of the node of the row with that number.
func RowName(n int64) string { return fmt.Sprintf("%s%0*d", AuditPrefix, digits, n) }
