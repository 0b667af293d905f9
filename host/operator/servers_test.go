package operator

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/registry"
)

// introduced is the Keyring of a server that others can ask, until stop is called.
func introduced(t *testing.T, r registry.Registry, ip string) (k *Keyring, stop func()) {
	t.Helper()
	k = NewKeyring(r, "jobs", nil)
	k.Introduce(ip, "https://"+ip+":8680")
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { k.Run(ctx) })
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return k, stop
}

// wantOthers checks which servers a Keyring knows beside its own.
func wantOthers(t *testing.T, what string, k *Keyring, want ...string) {
	t.Helper()
	synctest.Wait()
	others, err := k.Others()
	var got []string
	for _, s := range others {
		got = append(got, s.IP+" "+s.Address)
		if found, err := k.Server(s.Key); err != nil || found != s {
			t.Errorf("%s: the key of %s is that of %+v, %v", what, s.IP, found, err)
		}
	}
	if err != nil || strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("%s: %q, %v; want %q", what, got, err, want)
	}
}

// Servers know each other by keys in the registry, as long as their sessions last.
func TestServersKnowEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := memory(t)
		o := operate(t, reg)
		one, _ := introduced(t, reg, "10.0.0.1")
		_, stop := introduced(t, reg, "10.0.0.2")
		third := keyring(t, reg)
		wantOthers(t, "the first", one, "10.0.0.2 https://10.0.0.2:8680")
		wantOthers(t, "one that nobody can ask", third, "10.0.0.1 https://10.0.0.1:8680", "10.0.0.2 https://10.0.0.2:8680")
		own, err := one.Own()
		if seen, unseen := third.Server(own.Key); err != nil || unseen != nil || seen != own.Server {
			t.Errorf("%+v is seen as %+v: %v, %v", own, seen, err, unseen)
		}
		_, err = third.Own()
		wantCode(t, "one that nobody can ask", err, host.Unavailable)
		_, err = one.Server(strings.Repeat("0", 64))
		wantCode(t, "a key of nobody", err, host.Denied)
		stop()
		wantOthers(t, "when the second has gone", one)

		put(t, o, registry.Create, o.tree.Server("someone"), `{"v":1,"ip":"10.0.0.7","address":"https://10.0.0.7:1"}`)
		put(t, o, registry.Create, o.tree.Server(strings.Repeat("1", 64)), `{"v":2,"ip":"10.0.0.8","address":"https://10.0.0.8:1"}`)
		wantOthers(t, "what is no server", one)
		put(t, o, registry.Delete, o.tree.Server(own.Key), "")
		synctest.Wait()
		if again, err := one.Own(); err != nil || again.Key != own.Key {
			t.Errorf("its deleted node is not made again: %v", err)
		}
	})
}

// A server that cannot know the other servers asks none, and answers none.
func TestServersWithoutARegistry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := &far{Registry: memory(t)}
		k, stop := introduced(t, away, "10.0.0.1")
		synctest.Wait()
		first, err := k.Own()
		if err != nil {
			t.Fatal(err)
		}
		away.setCut(true)
		time.Sleep(10*time.Second + 1)
		_, err = k.Own()
		wantCode(t, "its own key", err, host.Unavailable)
		_, err = k.Others()
		wantCode(t, "the others", err, host.Unavailable)
		_, err = k.Server(first.Key)
		wantCode(t, "a key", err, host.Unavailable)
		away.setCut(false)
		stop()
		_, err = k.Own()
		wantCode(t, "at the end", err, host.Unavailable)
		again, _ := introduced(t, away, "10.0.0.1")
		synctest.Wait()
		if second, err := again.Own(); err != nil || second.Key == first.Key {
			t.Errorf("another session has the same key: %v", err)
		}
	})
}

// The time for requests between servers does not follow the server's wall clock.
func TestTimeOfServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, _ := introduced(t, &far{Registry: memory(t), ahead: time.Hour}, "10.0.0.1")
		synctest.Wait()
		time.Sleep(time.Second)
		if got := time.Until(k.Time()); got != time.Hour {
			t.Errorf("it is ahead by %v", got)
		}
	})
}

// Servers that a job knows but that cannot be asked are listed by address. Several servers may
// share one address.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	listed := []Server{{IP: "10.0.0.1"}, {IP: "10.0.0.1"}, {IP: "10.0.0.2"}}
	got := unlisted(map[string]int{"10.0.0.1": 2, "10.0.0.2": 3, "10.0.0.3": 1, "10.0.0.4": 0, "10.0.0.5": 0}, map[string]bool{"10.0.0.5": true}, listed)
	want := []string{"10.0.0.2 (2 of the servers there have no [admin] listen)", "10.0.0.3 (it has no [admin] listen)", "10.0.0.4 (down)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The old node of a restarted server is left out, also by that server itself.
func TestServersThatBeginAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := memory(t)
		o := operate(t, reg)
		put(t, o, registry.Create, o.tree.Root(), "")
		put(t, o, registry.Create, o.tree.Servers(), "")
		for i, key := range []string{"2", "1"} {
			put(t, o, registry.Create, o.tree.Server(strings.Repeat(key, 64)), `{"v":1,"ip":"10.0.0.`+strconv.Itoa(i+1)+`","address":"https://10.0.0.`+strconv.Itoa(i+1)+`:8680"}`)
		}
		put(t, o, registry.Create, o.tree.Server(strings.Repeat("0", 64)), `{"v":1,"ip":"10.0.0.2","address":"https://10.0.0.2:8680"}`)
		one, _ := introduced(t, reg, "10.0.0.1")
		wantOthers(t, "the newer one", one, "10.0.0.2 https://10.0.0.2:8680")
		if others, err := one.Others(); err != nil || others[0].Key != strings.Repeat("0", 64) {
			t.Errorf("%+v, %v", others, err)
		}
	})
}
