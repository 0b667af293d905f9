package supply

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/peer"
	"github.com/wasmjob/wasmjob/host/job"
)

// newStore returns a store in a new directory.
func newStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(Options{
		DataDir: t.TempDir(), Refuse: never, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Two jobs wait for the same module. The members of the first job cannot send it, so the
// members of the second are asked.
func TestPeersOfAllWhoWaitAreAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		let := make(chan struct{})
		offering := func(who string, wait <-chan struct{}) Peers {
			return func(context.Context) ([]string, error) {
				if wait != nil {
					<-wait
				}
				return nil, errors.New(who + " was asked")
			}
		}
		var waiting sync.WaitGroup
		lease := func(peers Peers) {
			waiting.Go(func() {
				_, err := s.lease(t.Context(), strings.Repeat("0", 64), peers)
				if _, elsewhere := errors.AsType[*FetchError](err); !elsewhere {
					t.Errorf("%v", err)
				}
				for _, who := range []string{"the first", "the second"} {
					if err == nil || strings.Count(err.Error(), who+" was asked") != 1 {
						t.Errorf("%s: %v", who, err)
					}
				}
			})
		}
		lease(offering("the first", let))
		synctest.Wait()
		lease(offering("the second", nil))
		lease(nil)
		synctest.Wait()
		close(let)
		waiting.Wait()
		if len(s.modules) != 0 {
			t.Errorf("leased: %v", s.modules)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// slowPeer sends a module only after let is closed.
type slowPeer struct {
	*module.Store
	asked, let chan struct{}
}

func (s slowPeer) Open(digest string) (io.ReadCloser, int64, error) {
	close(s.asked)
	<-s.let
	return s.Store.Open(digest)
}

// kitFile is a module of the conformance kit.
var kitFile = filepath.Join("..", "..", "..", "abi", "conformance", "wat", "ok.wasm")

func simpleJob(digest string) job.Config {
	return job.Config{Name: "j", Kind: job.Simple, Shards: 1, Module: "m", ModuleDigest: digest}
}

// A job that ends while its module is being fetched releases the module.
func TestCodeThatIsClosedWhileItsModuleIsFetched(t *testing.T) {
	t.Parallel()
	there, here := newStore(t), newStore(t)
	digest, _, err := there.disk.LoadSource("file:"+kitFile, "", "", module.MaxSize)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := peer.Listen(t.Context(), "127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	offered := slowPeer{there.disk, make(chan struct{}), make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() {
		if err := peer.NewServer(peer.ServerOptions{Address: address, Modules: offered, Log: slog.New(slog.DiscardHandler)}).Serve(ctx, listener); err != nil {
			t.Error(err)
		}
	})
	c := here.NewCode(nil)
	c.SetPeers(func(context.Context) ([]string, error) { return []string{address}, nil })
	loaded := make(chan *prepared)
	work.Go(func() {
		p, err := c.lease(ctx, simpleJob(digest))
		if err != nil {
			t.Error(err)
		}
		loaded <- p
	})
	<-offered.asked
	c.Close()
	close(offered.let)
	if p := <-loaded; p != nil {
		if len(here.modules) != 1 {
			t.Errorf("leased: %v", here.modules)
		}
		p.end()
	}
	if len(here.modules) != 0 {
		t.Errorf("leased for ever: %v", here.modules)
	}
	if err := c.Prepare(ctx, simpleJob(digest)); err != nil || len(here.modules) != 0 {
		t.Errorf("prepared for nobody: %v, %v", here.modules, err)
	}
	stop()
	work.Wait()
	if err := errors.Join(here.Close(), there.Close()); err != nil {
		t.Error(err)
	}
}
