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

// shelves is a library in a directory of its own.
func shelves(t *testing.T) *Store {
	t.Helper()
	l, err := Open(Options{
		DataDir: t.TempDir(), Refuse: never, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Two jobs want the same module, and the first one's members cannot give it: the
// second one's are asked.
func TestThePeersOfAllWhoWaitAreAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := shelves(t)
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
		take := func(from Peers) {
			waiting.Go(func() {
				_, err := l.take(t.Context(), strings.Repeat("0", 64), from)
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
		take(offering("the first", let))
		synctest.Wait()
		take(offering("the second", nil))
		take(nil)
		synctest.Wait()
		close(let)
		waiting.Wait()
		if len(l.held) != 0 {
			t.Errorf("held: %v", l.held)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// slowShelf gives modules only when it is let.
type slowShelf struct {
	*module.Store
	asked, let chan struct{}
}

func (s slowShelf) Open(digest string) (io.ReadCloser, int64, error) {
	close(s.asked)
	<-s.let
	return s.Store.Open(digest)
}

// kitFile is a module of the conformance kit.
var kitFile = filepath.Join("..", "..", "..", "abi", "conformance", "wat", "ok.wasm")

func simpleJob(digest string) job.Config {
	return job.Config{Name: "j", Kind: job.Simple, Shards: 1, Module: "m", ModuleDigest: digest}
}

// A job goes while its module is on its way: the module is not held.
func TestCodeThatIsClosedWhileItsModuleComes(t *testing.T) {
	t.Parallel()
	there, here := shelves(t), shelves(t)
	digest, _, err := there.bytes.LoadSource("file:"+kitFile, "", "", module.MaxSize)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := peer.Listen(t.Context(), "127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	shelf := slowShelf{there.bytes, make(chan struct{}), make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() {
		if err := peer.NewServer(peer.ServerOptions{Address: address, Modules: shelf, Log: slog.New(slog.DiscardHandler)}).Serve(ctx, listener); err != nil {
			t.Error(err)
		}
	})
	c := here.NewCode(nil)
	c.AskPeers(func(context.Context) ([]string, error) { return []string{address}, nil })
	equipped := make(chan *gear)
	work.Go(func() {
		k, err := c.equip(ctx, simpleJob(digest))
		if err != nil {
			t.Error(err)
		}
		equipped <- k
	})
	<-shelf.asked
	c.Close()
	close(shelf.let)
	if k := <-equipped; k != nil {
		if len(here.held) != 1 {
			t.Errorf("in use: %v", here.held)
		}
		k.release()
	}
	if len(here.held) != 0 {
		t.Errorf("held for ever: %v", here.held)
	}
	if err := c.Prepare(ctx, simpleJob(digest)); err != nil || len(here.held) != 0 {
		t.Errorf("prepared for nobody: %v, %v", here.held, err)
	}
	stop()
	work.Wait()
	if err := errors.Join(here.Close(), there.Close()); err != nil {
		t.Error(err)
	}
}
