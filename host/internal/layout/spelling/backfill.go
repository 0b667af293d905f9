package spelling

import (
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// backfillJSON is an item's instants that wait for its owner.
type backfillJSON struct {
	V        int     `json:"v"`
	By       string  `json:"by,omitempty"`
	Instants []int64 `json:"instants"`
}

// EncodeBackfill returns the value of a node with an item's waiting instants.
func EncodeBackfill(f *protocol.Backfill) []byte {
	return jsonvalue.Encode(backfillJSON{V: Version, By: f.By, Instants: f.Instants})
}

// DecodeBackfill reads what EncodeBackfill wrote into f, whose Item is set by the caller.
// It refuses instants that are not ascending and positive.
func DecodeBackfill(f *protocol.Backfill, data []byte) error {
	var v backfillJSON
	if err := jsonvalue.Decode(data, &v); err != nil {
		return err
	}
	switch {
	case v.V != Version:
		return fmt.Errorf("version %d is not known to this release", v.V)
	case len(v.By) > protocol.MaxBackfillBy:
		return fmt.Errorf("by has %d bytes, of %d", len(v.By), protocol.MaxBackfillBy)
	case len(v.Instants) == 0 || len(v.Instants) > protocol.MaxBackfill:
		return fmt.Errorf("%d instants, of 1 to %d", len(v.Instants), protocol.MaxBackfill)
	}
	before := int64(0)
	for _, t := range v.Instants {
		if t <= before {
			return errors.New("the instants are not in order")
		}
		before = t
	}
	f.By, f.Instants = v.By, v.Instants
	return nil
}
