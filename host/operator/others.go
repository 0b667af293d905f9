package operator

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wasmjob/wasmjob/host"
)

const (
	// askedAtOnce bounds the servers that are asked at once, and so what their answers take of
	// the memory.
	askedAtOnce = 8
	// askPatience bounds the time of one of them that reads, and doPatience of one that has more to do.
	askPatience = 5 * time.Second
	doPatience  = 20 * time.Second
)

// AskAll asks servers, by their addresses, and returns those that did not answer, with the
// reasons. Who does not have what is asked for has answered.
func AskAll[S any](ctx context.Context, servers map[string]S, ask func(ctx context.Context, address string, s S) error) (unread []string) {
	return askAll(ctx, servers, askPatience, ask)
}

// AskAllTo asks servers for what takes longer, as AskAll. Who is to do something and does not answer may
// have done it.
func AskAllTo[S any](ctx context.Context, servers map[string]S, do func(ctx context.Context, address string, s S) error) (unread []string) {
	return askAll(ctx, servers, doPatience, do)
}

func askAll[S any](ctx context.Context, servers map[string]S, patience time.Duration, ask func(context.Context, string, S) error) (unread []string) {
	var mu sync.Mutex // guards unread
	var asking errgroup.Group
	asking.SetLimit(askedAtOnce)
	for address, one := range servers {
		asking.Go(func() error {
			within, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if err := ask(within, address, one); err != nil && !isCode(err, host.NotFound) {
				mu.Lock()
				defer mu.Unlock()
				unread = append(unread, fmt.Sprintf("%s (%v)", address, err))
			}
			return nil
		})
	}
	_ = asking.Wait() // nobody returns an error
	slices.Sort(unread)
	return unread
}

// Unlisted names the servers that a job knows, or any job if name is empty, and that are not
// among those which can be asked, this one included.
func (o *Operator) Unlisted(ctx context.Context, name string, listed []Server) ([]string, error) {
	names, err := o.nameOrAll(ctx, name)
	if err != nil {
		return nil, err
	}
	files := o.files
	o.files = nil // how they compare does not matter, and without them only jobs that have changed are read
	all, err := o.outlines(ctx, names, false)
	o.files = files
	if err != nil {
		return nil, err
	}
	most, foreign := map[string]int{}, map[string]bool{} // members of ours of one job, by address
	for _, of := range all {
		here := map[string]int{}
		for _, m := range of.report.Members {
			if m.Foreign {
				foreign[m.ID.IP()] = true
			} else {
				here[m.ID.IP()]++
			}
		}
		for _, s := range of.report.Servers {
			most[s.IP] = max(most[s.IP], here[s.IP])
		}
		for ip, n := range here {
			most[ip] = max(most[ip], n)
		}
	}
	return unlisted(most, foreign, listed), nil
}

// unlisted compares how many servers there are at each address with those that are listed.
func unlisted(most map[string]int, foreign map[string]bool, listed []Server) []string {
	has := map[string]int{}
	for _, s := range listed {
		has[s.IP]++
	}
	var missing []string
	for ip, n := range most {
		switch {
		case n == 0 && has[ip] == 0 && !foreign[ip]:
			missing = append(missing, ip+" (down)")
		case n == 1 && has[ip] == 0:
			missing = append(missing, ip+" (it has no [admin] listen)")
		case n > has[ip]:
			missing = append(missing, ip+" ("+strconv.Itoa(n-has[ip])+" of the servers there have no [admin] listen)")
		}
	}
	slices.Sort(missing)
	return missing
}
