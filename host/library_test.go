package host

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/peer"
	"github.com/wasmjob/wasmjob/host/job"
)

// shelves is a library in a directory of its own.
func shelves(t *testing.T) *library {
	t.Helper()
	l, err := openLibrary(libraryOptions{
		DataDir: t.TempDir(), Refuse: func(job.Config, *job.Config) error { return nil }, Log: slog.New(slog.DiscardHandler),
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
		offering := func(who string, wait <-chan struct{}) peers {
			return func(context.Context) ([]string, error) {
				if wait != nil {
					<-wait
				}
				return nil, errors.New(who + " was asked")
			}
		}
		var waiting sync.WaitGroup
		take := func(from peers) {
			waiting.Go(func() {
				_, err := l.take(t.Context(), strings.Repeat("0", 64), from)
				if _, elsewhere := errors.AsType[*fetchError](err); !elsewhere {
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
		if err := l.close(); err != nil {
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

// A job goes while its module is on its way: the module is not held.
func TestCodeThatIsClosedWhileItsModuleComes(t *testing.T) {
	t.Parallel()
	digest := digestOfKit(t, "ok")
	there, here := shelves(t), shelves(t)
	if _, _, err := there.bytes.LoadSource("file:"+kit("ok")["ok"].Path, "", "", module.MaxSize); err != nil {
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
	c := here.newCode(nil)
	c.askPeers(func(context.Context) ([]string, error) { return []string{address}, nil })
	equipped := make(chan *gear)
	work.Go(func() {
		k, err := c.equip(ctx, simple("j", digest))
		if err != nil {
			t.Error(err)
		}
		equipped <- k
	})
	<-shelf.asked
	c.close()
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
	if err := c.Prepare(ctx, simple("j", digest)); err != nil || len(here.held) != 0 {
		t.Errorf("prepared for nobody: %v, %v", here.held, err)
	}
	stop()
	work.Wait()
	if err := errors.Join(here.close(), there.close()); err != nil {
		t.Error(err)
	}
}
