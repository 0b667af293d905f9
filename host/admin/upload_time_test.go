package admin

import (
	"bytes"
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/operator"
)

// A slow upload of a module that takes long to compile is answered, although the time for other
// requests is over by then.
func TestUploadTakesItsTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		h := NewHandler(Options{
			Operate: onMemory, Receive: func(r io.Reader) (*host.ReceivedModule, error) { return host.ReceiveModule(dir, r, nil) },
			Push: &operator.Push{Examine: func(ctx context.Context, _ io.Reader) (found guest.Examination, err error) {
				time.Sleep(2 * workTimeout)
				found.Runs, found.Digest = true, digestOf("ab")
				return found, ctx.Err()
			}},
		})
		ended := make(chan error, 1)
		go func() { ended <- Serve(ctx, p, h) }()
		c, begun := p.call(), time.Now()
		send := func(text string) {
			if _, err := io.WriteString(c, text); err != nil {
				t.Fatal(err)
			}
		}
		send("POST " + modulesPath + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/wasm\r\nContent-Length: 2\r\n\r\na")
		time.Sleep(2 * workTimeout)
		send("b")
		text, err := io.ReadAll(c)
		if took := time.Since(begun); err != nil || took != 4*workTimeout || !bytes.HasPrefix(text, []byte("HTTP/1.1 200 ")) {
			t.Errorf("after %s: %s, %v", took, text, err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
