package host

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A definition that could not be written, as on a full disk, is written later, in its newest
// version.
func TestMemoryOfTheFileOnADiskThatIsFullForAWhile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		a := readApplied(&Options{DataDir: dir, Namespace: "n", Log: slog.New(slog.DiscardHandler)})
		if err := os.WriteFile(a.dir, nil, 0o600); err != nil { // takes the place of the directory
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() { a.run(ctx) })
		a.keep("a", []byte("first"))
		a.keep("b", []byte("only"))
		synctest.Wait()
		a.keep("a", []byte("second"))
		synctest.Wait()
		if err := os.Remove(filepath.Join(dir, "applied")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(appliedAgain)
		synctest.Wait()
		for job, want := range map[string]string{"a": "second", "b": "only"} {
			if got, err := os.ReadFile(a.path(job)); err != nil || string(got) != want {
				t.Errorf("of job %s: %q, %v", job, got, err)
			}
		}
		cancel()
		work.Wait()
	})
}
