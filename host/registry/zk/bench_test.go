package zk_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

const (
	nodes   = 10_000
	readers = 56 // as many as a server runs at a time
)

// BenchmarkRead reads nodes as a mirror does after changes, and compares this with the client
// library alone.
func BenchmarkRead(b *testing.B) {
	server := zktest.Start(b, zktest.Debian(b), zktest.Options{})
	r, err := zk.New(zk.Options{Servers: []string{server.Address()}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	s, err := r.Open(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	paths := make([]string, nodes)
	ops := []registry.Op{{Kind: registry.Create, Path: "/nodes"}}
	for i := range paths {
		paths[i] = fmt.Sprintf("/nodes/job-%06d", i)
		if ops = append(ops, registry.Op{Kind: registry.Create, Path: paths[i]}); len(ops) == 1_000 || i == nodes-1 {
			if _, err := s.Commit(b.Context(), ops...); err != nil {
				b.Fatal(err)
			}
			ops = ops[:0]
		}
	}
	b.Run("adapter", func(b *testing.B) {
		readAll(b, paths, func(path string) error {
			_, err := s.Read(b.Context(), path)
			return err
		})
	})
	b.Run("library", func(b *testing.B) {
		conn, _, err := client.Connect([]string{server.Address()}, 10*time.Second, client.WithLogInfo(false))
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		readAll(b, paths, func(path string) error {
			_, _, err := conn.Get(path)
			return err
		})
	})
}

func readAll(b *testing.B, paths []string, read func(string) error) {
	b.Helper()
	for b.Loop() {
		var work sync.WaitGroup
		todo := make(chan string)
		for range readers {
			work.Go(func() {
				for path := range todo {
					if err := read(path); err != nil {
						b.Error(err)
					}
				}
			})
		}
		for _, path := range paths {
			todo <- path
		}
		close(todo)
		work.Wait()
	}
	b.ReportMetric(float64(len(paths)*b.N)/b.Elapsed().Seconds(), "paths/s")
}

// BenchmarkCommit measures the transactions that begin and end the runs of a number of items.
func BenchmarkCommit(b *testing.B) {
	server := zktest.Start(b, zktest.Debian(b), zktest.Options{})
	r, err := zk.New(zk.Options{Servers: []string{server.Address()}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	s, err := r.Open(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 100, 1_000} {
		begin, end := []registry.Op{}, []registry.Op{}
		for i := range n {
			path := fmt.Sprintf("/items-%d-%04d", n, i)
			begin = append(begin, registry.Op{Kind: registry.CreateEphemeral, Path: path})
			end = append(end, registry.Op{Kind: registry.Delete, Path: path, Version: registry.AnyVersion})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				for _, ops := range [][]registry.Op{begin, end} {
					if _, err := s.Commit(b.Context(), ops...); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
