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

// EncodePause is the value of wasm/paused; a pause of which nothing is said has none.
func EncodePause(p protocol.Pause) []byte {
	if p == (protocol.Pause{}) {
		return nil
	}
	return jsonvalue.Encode(pauseJSON{Version, p.By, p.Why, p.Since, p.Until})
}

// maxPause bounds the value that is read, in bytes.
const maxPause = 4096

// DecodePause reads what EncodePause wrote. That the node is there pauses the job,
// whatever it says, so what cannot be read is a pause without an end.
func DecodePause(data []byte) protocol.Pause {
	var v pauseJSON
	if len(data) > maxPause || jsonvalue.Decode(data, &v) != nil || v.V != Version || v.Since < 0 || v.Until < 0 {
		return protocol.Pause{}
	}
	return protocol.Pause{By: v.By, Why: v.Why, Since: v.Since, Until: v.Until}
}
