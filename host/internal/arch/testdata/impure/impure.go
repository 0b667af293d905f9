// Package impure contains, line by line, what the test of purity must refuse.
package impure

import (
	"fmt"
	"maps"
	"os" // want: import of os
	"slices"
	"strings"
	"sync" // want: import of sync
	"time"
)

var (
	table   = map[string]int{"read only": 1}
	counter int
	list    []int
	builder strings.Builder
	guard   sync.Mutex
)

type box struct{ n int }

func (b *box) add() { b.n++ }

var kept box

func concurrency(in chan int) { // want: channel type
	go fmt.Sprint("x") // want: go statement
	in <- 1            // want: channel send
	<-in               // want: channel receive
	select {}          // want: select
}

func drain(in <-chan int) { // want: channel type
	for range in { // want: range over a channel
	}
}

func clocks(at time.Time) time.Duration {
	_ = time.Now()                 // want: use of time.Now
	time.Sleep(1)                  // want: use of time.Sleep
	later := time.After            // want: use of time.After
	_ = later                      //
	_ = at.In(time.Local)          // want: use of time.Local
	fmt.Println(os.Args)           // want: use of fmt.Println
	return at.Sub(time.Unix(1, 0)) // arithmetic is fine
}

func writes() int {
	counter++           // want: write to the package variable counter
	table["a"] = 2      // want: write to the package variable table
	list = append(list) // want: write to the package variable list
	p := &counter       // want: write to the package variable counter
	delete(table, "a")  // want: write to the package variable table
	guard.Lock()        // want: write to the package variable guard
	builder.Reset()     // want: write to the package variable builder
	kept.add()          // want: write to the package variable kept
	counter := *p       // a local of the same name is fine
	counter++
	local := box{}
	local.add()
	return counter + table["read only"]
}

func order(m map[string]int) (out []string) {
	for k := range m { // want: range over a map
		out = append(out, k)
	}
	for k := range m { // want: range over a map
		fmt.Sprint(k)
	}
	for range maps.Keys(m) { // want: maps.Keys without slices.Sorted
	}
	_ = slices.Collect(maps.Values(m)) // want: maps.Values without slices.Sorted
	return out
}

func sorted(m map[string]int) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		keys = append(keys, k)
	}
	return keys
}
