package embedded

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/wasmjob/wasmjob/host/registry"
)

// BenchmarkDurable compares durable updates of one key each, acknowledged once the disk has
// them, with those of bbolt. The two take turns, so that other load affects both, and the
// results are medians of the turns. Run it with -benchtime 9x or so.
func BenchmarkDurable(b *testing.B) {
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			compare(b, writers)
		})
	}
}

func compare(b *testing.B, writers int) {
	r, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	sessions := make([]registry.Session, writers)
	for w := range sessions {
		sessions[w] = openSession(b, r)
		mustCommit(b, sessions[w], registry.Op{Kind: registry.Create, Path: key(w)})
	}
	db, err := bbolt.Open(filepath.Join(b.TempDir(), "bolt"), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	bucket := []byte("registry")
	if err := db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket(bucket); return err }); err != nil {
		b.Fatal(err)
	}

	const ours, theirs = 250, 15 // updates per writer in a turn
	var commits, updates, ratios, syncs []float64
	for b.Loop() {
		before := r.journal.syncs.Load()
		rate := turn(b, writers, ours, func(w, i int) error {
			_, err := sessions[w].Commit(context.Background(), registry.Op{
				Kind: registry.Set, Path: key(w), Data: value(i), Version: registry.AnyVersion,
			})
			return err
		})
		other := turn(b, writers, theirs, func(w, i int) error {
			return db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Put([]byte(key(w)), value(i)) })
		})
		commits, updates, ratios = append(commits, rate), append(updates, other), append(ratios, rate/other)
		syncs = append(syncs, float64(r.journal.syncs.Load()-before)/float64(writers*ours))
	}
	b.ReportMetric(median(commits), "commits/s")
	b.ReportMetric(median(updates), "bbolt/s")
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(median(syncs), "fdatasyncs/commit")
	b.ReportMetric(0, "ns/op")
	if err := r.Close(); err != nil {
		b.Error(err)
	}
	if err := db.Close(); err != nil {
		b.Error(err)
	}
}

// turn lets each writer do a number of updates and returns the updates per second.
func turn(b *testing.B, writers, updates int, update func(w, i int) error) float64 {
	var group sync.WaitGroup
	start := time.Now()
	for w := range writers {
		group.Go(func() {
			for i := range updates {
				if err := update(w, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	return float64(writers*updates) / time.Since(start).Seconds()
}

func key(w int) string { return fmt.Sprintf("/orders-settlement-daily-key-%06d", w) }

func value(i int) []byte { return fmt.Appendf(nil, "%060d", i) }

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkRelaxed measures one writer whose replies do not wait for the disk.
func BenchmarkRelaxed(b *testing.B) {
	r, err := Open(b.TempDir(), Options{Relaxed: func([]registry.Op) bool { return true }})
	if err != nil {
		b.Fatal(err)
	}
	s := openSession(b, r)
	mustCommit(b, s, registry.Op{Kind: registry.Create, Path: key(0)})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		mustCommit(b, s, registry.Op{Kind: registry.Set, Path: key(0), Data: value(i), Version: registry.AnyVersion})
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkMemory measures one writer of a registry without a disk.
func BenchmarkMemory(b *testing.B) {
	r := Memory()
	s := openSession(b, r)
	mustCommit(b, s, registry.Op{Kind: registry.Create, Path: key(0)})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		mustCommit(b, s, registry.Op{Kind: registry.Set, Path: key(0), Data: value(i), Version: registry.AnyVersion})
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOpen measures the recovery of a log and the writing of the new snapshot.
func BenchmarkOpen(b *testing.B) {
	d := newMemDisk()
	r, err := open(d, Options{})
	if err != nil {
		b.Fatal(err)
	}
	s := openSession(b, r)
	for w := range 10_000 {
		mustCommit(b, s, registry.Op{Kind: registry.Create, Path: key(w), Data: value(w)})
	}
	size := len(d.contents(logName(1)))
	b.SetBytes(int64(size))
	for b.Loop() {
		if _, err := recoverTree(d, quiet); err != nil {
			b.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}
