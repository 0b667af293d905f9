package spelling

import (
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

type firesJSON struct {
	V         int         `json:"v"`
	Started   tellingJSON `json:"started"`
	Completed tellingJSON `json:"completed"`
	Followed  bool        `json:"followed,omitempty"`
}

type tellingJSON struct {
	Instant int64          `json:"t"`
	Attempt int            `json:"n,omitempty"`
	By      job.InstanceID `json:"by,omitempty"`
}

// EncodeFires returns the value of wasm/fires.
func EncodeFires(f *protocol.Fires) []byte {
	return jsonvalue.Encode(firesJSON{V: Version, Started: tellingJSON(f.Started), Completed: tellingJSON(f.Completed), Followed: f.Followed})
}

// DecodeFires reads what EncodeFires wrote.
func DecodeFires(data []byte) (protocol.Fires, error) {
	var v firesJSON
	var f protocol.Fires
	if err := decodePlain(data, &v, v.plain); err != nil {
		return f, err
	}
	if v.V != Version {
		return f, fmt.Errorf("version %d is not known to this release", v.V)
	}
	f.Started, f.Completed, f.Followed = protocol.Call(v.Started), protocol.Call(v.Completed), v.Followed
	return f, nil
}
