package operator

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/signature"
)

func TestMaxSignature(t *testing.T) {
	t.Parallel()
	if MaxSignature != signature.MaxSize {
		t.Errorf("%d and %d", MaxSignature, signature.MaxSize)
	}
}
