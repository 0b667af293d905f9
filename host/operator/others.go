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
	// askedAtOnce limits the servers that are asked at the same time, and so the memory for their
	// answers.
	askedAtOnce = 8
	// askPatience limits the time of a request that reads, and doPatience of one that takes longer.
	askPatience = 5 * time.Second
	doPatience  = 20 * time.Second
)

// AskAll asks servers, which are given by address, and returns those that did not answer, with the reasons. An
// error of the code NotFound counts as an answer: that server does not have what is asked for.
func AskAll[S any](ctx context.Context, servers map[string]S, ask func(ctx context.Context, address string, s S) error) (unread []string) {
	return askAll(ctx, servers, askPatience, ask)
}

// AskAllTo is AskAll for requests that take longer, such as changes. A server that did not answer may
// have made the change.
func AskAllTo[S any](ctx context.Context, servers map[string]S, do func(ctx context.Context, address string, s S) error) (unread []string) {
	return askAll(ctx, servers, doPatience, do)
}

// askAll is AskAll with a limit for the time of each request.
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
	_ = asking.Wait() // no function returns an error
	slices.Sort(unread)
	return unread
}

// Unlisted names the servers that a job knows, or any job if name is empty, but that are not
// listed. listed has the servers that can be asked, and this one.
func (o *Operator) Unlisted(ctx context.Context, name string, listed []Server) ([]string, error) {
	names, err := o.nameOrAll(ctx, name)
	if err != nil {
		return nil, err
	}
	all, err := o.outlines(ctx, names, false)
	if err != nil {
		return nil, err
	}
	// By address: the number of our servers there, as the job with most members there shows it, and whether foreign
	// members are there. The number is 0 if a job knows the address, but no member of ours is there.
	most, foreign := map[string]int{}, map[string]bool{}
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

// unlisted names the addresses with more servers than are listed there. most and foreign are those of Unlisted.
func unlisted(most map[string]int, foreign map[string]bool, listed []Server) []string {
	has := map[string]int{} // listed servers by address
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
