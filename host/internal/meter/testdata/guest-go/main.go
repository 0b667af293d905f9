// Command guest has several kinds of work for the tests and benchmarks of the meter.
package main

import (
	"encoding/json"
	"fmt"
)

func main() {}

//go:wasmexport loop
func loop(n uint32) uint32 {
	h := uint32(2166136261)
	for i := range n {
		h = (h ^ i&255) * 16777619
		if h&1024 != 0 {
			h += i
		}
	}
	return h
}

//go:wasmexport fib
func fib(n uint32) uint32 {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

type order struct {
	ID    int               `json:"id"`
	Name  string            `json:"name"`
	Price float64           `json:"price"`
	Tags  []string          `json:"tags"`
	More  map[string]string `json:"more"`
}

// encode has the standard library write and read what json only reads.
//
//go:wasmexport encoding
func encode(n uint32) uint32 {
	var h uint32
	for i := range n {
		o := order{int(i), fmt.Sprintf("order %d", i), float64(i) / 7, []string{"a", "b"}, map[string]string{"k": "v"}}
		text, err := json.Marshal(o)
		if err != nil {
			panic(err)
		}
		var back order
		if err := json.Unmarshal(text, &back); err != nil {
			panic(err)
		}
		for _, c := range text {
			h = h*31 + uint32(c)
		}
		h += uint32(back.ID) + uint32(len(back.Name))
	}
	return h
}

//go:wasmexport bytes
func bytes(n uint32) uint32 {
	var h uint32
	from := make([]byte, 4096)
	to := make([]byte, 4096)
	for i := range n {
		copy(to, from[:1+i%64])
		clear(from[:i%512])
		from[i%4096] = byte(i)
		h += uint32(to[i%64])
	}
	return h
}
