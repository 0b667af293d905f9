package main

import (
	"testing"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
)

func TestHello(t *testing.T) {
	t.Parallel()
	moon := "moon"
	for _, c := range []struct {
		name  string
		param *string
		want  string
	}{
		{"with a parameter", &moon, "hello, moon, from item 1 of 3"},
		{"without", nil, "hello, world, from item 1 of 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := &wasmjob.Fake{Item: 1, Total: 3, Param: c.param}
			if code := f.Run(hello); code != 0 {
				t.Fatalf("code %d: %s", code, f.Err)
			}
			if string(f.Result) != c.want || len(f.Logs) != 1 || f.Logs[0] != c.want {
				t.Errorf("result %q, logs %q; want %q in both", f.Result, f.Logs, c.want)
			}
		})
	}
}
