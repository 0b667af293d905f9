package cluster_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/cluster"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
)

// revokedWithin is the promised time within which every server refuses a revoked token.
const revokedWithin = time.Second

// A token that is revoked through one of three servers is refused by all within a second
// of the transaction. A disconnected server accepts no token after its session's
// time-out.
func tokens(t *testing.T, c *stage) {
	var keyrings []*operator.Keyring
	var registries []registry.Registry
	var members []*cluster.Member
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	for i := range 3 {
		members = append(members, c.Start(cluster.Options{Instance: member(i + 1), Job: manual(3), Session: mortal, Adjust: func(o *host.Options) {
			registries = append(registries, o.Registry)
			k := operator.NewKeyring(o.Registry, o.Namespace, o.Log)
			keyrings = append(keyrings, k)
			running.Go(func() { k.Run(t.Context()) })
		}}))
	}
	o, err := operator.Open(t.Context(), registries[0], "tokens")
	if err != nil {
		t.Fatal(err)
	}
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	until := func(what string, k *operator.Keyring, token string, is func(error) bool) {
		t.Helper()
		for late := time.After(time.Minute); ; {
			_, err := k.Check(token)
			if is(err) {
				return
			}
			select {
			case <-again.C:
			case <-late:
				t.Fatalf("waited in vain: %s: %v", what, err)
			}
		}
	}
	known := func(err error) bool { return err == nil }
	gone := func(err error) bool { return errors.Is(err, operator.ErrToken) }
	var took []float64
	for turn := range 5 {
		secret, _, err := o.CreateToken(t.Context(), fmt.Sprint("t", turn), operator.RoleViewer, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keyrings {
			until("a new token is accepted", k, secret, known)
		}
		if err := o.RevokeToken(t.Context(), fmt.Sprint("t", turn)); err != nil {
			t.Fatal(err)
		}
		committed := time.Now()
		for _, k := range keyrings {
			until("a revoked token is refused", k, secret, gone)
		}
		took = append(took, ms(time.Since(committed)))
		if most := time.Duration(slices.Max(took) * float64(time.Millisecond)); most > revokedWithin {
			t.Errorf("a revoked token was accepted for %v", most)
		}
	}
	t.Logf("refused by all after %.1f ms", took)

	secret, _, err := o.CreateToken(t.Context(), "cut", operator.RoleViewer, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keyrings {
		until("a new token is accepted", k, secret, known)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	members[2].Freeze()
	until("a server that is cut off accepts no token", keyrings[2], secret, func(err error) bool { return err != nil && !gone(err) })
	if _, err := keyrings[1].Check(secret); err != nil {
		t.Errorf("another server: %v", err)
	}
	members[2].Thaw()
	until("it accepts them again", keyrings[2], secret, known)
}
