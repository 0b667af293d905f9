package sandbox

import (
	"slices"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

func TestScratchVector(t *testing.T) {
	b := &builder{}
	// block; i32.const 1; br_if 0; v128.const spelled at length with smuggled bytes ; end
	smuggled := []byte{
		0x0b,                               // end of block, as the engine sees it
		0x03, 0x40, 0x0c, 0x00, 0x0b, // loop br 0 end
		0x02, 0x40, // block, for the end that the meter sees
		0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
	}
	v := slices.Concat([]byte{0xfd, 12}, make([]byte, 16))
	wasm := b.job(op(0x02, 0x40), i32(1), op(0x0d, 0), v, v, op(0xfd, 0xae, 0x01, 0x1a), v, i32(1), op(0xfd, 0x8c, 0x00), smuggled, op(0x0b), i32(0))
	_ = v
	e := newEngine(t)
	m, err := e.Load(t.Context(), wasm)
	t.Log(err)
	if err != nil {
		return
	}
	out := e.Run(t.Context(), m, job.Call{Config: job.Config{Timeout: 50 * time.Millisecond, Limits: job.Limits{Grace: time.Millisecond}}})
	t.Log(out)
}
