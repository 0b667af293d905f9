package zk_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

const (
	watched = 10_000
	readers = 16
)

// BenchmarkArm reads nodes with a watch on data and children of each, as a
// mirror does, beside what the client library keeps for the same.
func BenchmarkArm(b *testing.B) {
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
	paths := make([]string, watched)
	ops := []registry.Op{{Kind: registry.Create, Path: "/watched"}}
	for i := range paths {
		paths[i] = fmt.Sprintf("/watched/job-%06d", i)
		if ops = append(ops, registry.Op{Kind: registry.Create, Path: paths[i]}); len(ops) == 1_000 || i == watched-1 {
			if _, err := s.Commit(b.Context(), ops...); err != nil {
				b.Fatal(err)
			}
			ops = ops[:0]
		}
	}
	b.Run("adapter", func(b *testing.B) {
		armAll(b, paths, func(path string) error {
			_, err := s.Read(b.Context(), path, true)
			return err
		})
	})
	b.Run("library", func(b *testing.B) {
		conn, _, err := client.Connect([]string{server.Address()}, 10*time.Second, client.WithLogInfo(false))
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		armAll(b, paths, func(path string) error {
			if _, _, _, err := conn.GetW(path); err != nil {
				return err
			}
			_, _, _, err := conn.ChildrenW(path)
			return err
		})
	})
}

func armAll(b *testing.B, paths []string, arm func(string) error) {
	b.Helper()
	before := heap()
	for b.Loop() {
		var work sync.WaitGroup
		todo := make(chan string)
		for range readers {
			work.Go(func() {
				for path := range todo {
					if err := arm(path); err != nil {
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
	b.ReportMetric((heap()-before)/float64(len(paths)), "B/path")
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkCommit begins and ends the runs of so many items.
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
