package spelling

import (
	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

type pauseJSON struct {
	V     int    `json:"v"`
	By    string `json:"by,omitempty"`
	Why   string `json:"why,omitempty"`
	Since int64  `json:"since,omitempty"`
	Until int64  `json:"until,omitempty"`
}

// EncodePause returns the value of wasm/paused; it is empty for a pause without details.
func EncodePause(p protocol.Pause) []byte {
	if p == (protocol.Pause{}) {
		return nil
	}
	return jsonvalue.Encode(pauseJSON{Version, p.By, p.Why, p.Since, p.Until})
}

// maxPause is the largest value that is read, in bytes.
const maxPause = 4096

// DecodePause reads what EncodePause wrote. The node pauses the job whatever its value, so
// an unreadable value is a pause without an end.
func DecodePause(data []byte) protocol.Pause {
	var v pauseJSON
	if len(data) > maxPause || jsonvalue.Decode(data, &v) != nil || v.V != Version || v.Since < 0 || v.Until < 0 {
		return protocol.Pause{}
	}
	return protocol.Pause{By: v.By, Why: v.Why, Since: v.Since, Until: v.Until}
}
