package runner

import (
	"sync"
	"time"
)

// pipe carries what was put into it to the other end in order, each element after a
// delay. While shut it carries nothing.
type pipe struct {
	mu      sync.Mutex // guards the fields below
	waiting []parcel
	last    time.Time // when the newest element arrives
	shut    bool
	closed  bool
	changed chan struct{} // holds one
}

type parcel struct {
	at      time.Time
	deliver func()
}

func newPipe() *pipe { return &pipe{changed: make(chan struct{}, 1)} }

func (p *pipe) put(delay time.Duration, deliver func()) {
	p.change(func() {
		if at := time.Now().Add(delay); at.After(p.last) {
			p.last = at
		}
		p.waiting = append(p.waiting, parcel{p.last, deliver})
	})
}

// clear drops everything on its way.
func (p *pipe) clear() {
	p.change(func() { p.waiting, p.last = nil, time.Time{} })
}

func (p *pipe) setShut(shut bool) { p.change(func() { p.shut = shut }) }
func (p *pipe) close()            { p.change(func() { p.closed = true }) }

func (p *pipe) change(how func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	how()
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// next returns the element to deliver now. Otherwise wait is the time until one is due,
// and never means that none is due before a change.
func (p *pipe) next() (deliver func(), wait time.Duration, never, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, 0, true, true
	}
	if p.shut || len(p.waiting) == 0 {
		return nil, 0, true, false
	}
	first := p.waiting[0]
	if wait := time.Until(first.at); wait > 0 {
		return nil, wait, false, false
	}
	p.waiting = p.waiting[1:]
	return first.deliver, 0, false, false
}

// run delivers until the pipe is closed.
func (p *pipe) run() {
	for {
		deliver, wait, never, closed := p.next()
		switch {
		case closed:
			return
		case deliver != nil:
			deliver()
		case never:
			<-p.changed
		default:
			t := time.NewTimer(wait)
			select {
			case <-t.C:
			case <-p.changed:
				t.Stop()
			}
		}
	}
}
