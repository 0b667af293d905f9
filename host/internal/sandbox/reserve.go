package sandbox

import (
	"context"
	"fmt"
	"sync"
)

// reserve sets memory aside for work of the host that belongs to no run, such
// as compiling a module. It waits its turn like a run that has nothing yet, and
// refuses at once what no wait could satisfy. The caller calls release when the
// work is done; a second call does nothing.
//
// The caller must not hold Engine.mu, which closing instances at rest takes,
// and must not be a run that has memory already: the two would wait for each
// other.
func (b *budget) reserve(ctx context.Context, need uint64) (release func(), err error) {
	if need > b.most {
		return nil, fmt.Errorf("the work needs %d bytes of memory, and the budget of the host is %d; raise [host] memory", need, b.most)
	}
	r := &run{ctx: ctx}
	if err := b.take(r, need); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() {
		b.give(need)
		b.leave(r)
	}), nil
}
