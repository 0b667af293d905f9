//go:build !tinygo

package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:wasmexport work
func work() {
	words := strings.Fields(strings.Repeat("the quick brown fox jumps over the lazy dog ", 200))
	count := map[string]int{}
	for _, w := range words {
		count[w]++
	}
	for _, w := range slices.Sorted(maps.Keys(count)) {
		fmt.Println(w, count[w])
	}
	big := strings.Repeat("x", 1<<20)
	fmt.Printf("%x\n", sha256.Sum256([]byte(big)))
	done := make(chan int)
	for i := range 10 {
		go func() { done <- i * i }()
	}
	sum := 0
	for range 10 {
		sum += <-done
	}
	fmt.Println(sum, fib(15), loop(1000), encode(20))
	defer func() { fmt.Println("recovered:", recover()) }()
	var none []int
	fmt.Println(none[sum])
}
