package operator

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Server is a server of the cluster that others can ask.
type Server struct {
	Key     string // its public key of Ed25519, in hex
	IP      string // which instances there have
	Address string // as https://host:port

	since int64 // revision of its node
}

// OwnServer is this server, as the others know it.
type OwnServer struct {
	Server
	Private ed25519.PrivateKey
}

// roll is what a Keyring knows of the servers of the cluster.
type roll struct {
	says clustertree.Server // of this one; no address: the others cannot ask it
	own  ed25519.PrivateKey // of this session; nil: none
	// all are the servers by their keys, this one among them. If they cannot be read, fault
	// says why.
	all   map[string]Server
	fault string
}

// Introduce lets the others ask this server at an address. They know it by a key that it has
// as long as its session of the registry. Call it before Run.
func (k *Keyring) Introduce(ip, address string) {
	k.roll.says = clustertree.Server{IP: ip, Address: address}
}

// Own returns this server with its key. Until the others can know it, the error has the code
// Unavailable.
func (k *Keyring) Own() (OwnServer, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if err := k.unknown(); err != nil {
		return OwnServer{}, err
	}
	key := keyText(k.roll.own)
	own, ok := k.roll.all[key]
	if !ok {
		return OwnServer{}, failf(host.Unavailable, nil, "this server is not known to the others yet; try again")
	}
	return OwnServer{own, k.roll.own}, nil
}

// Others returns the other servers that can be asked, by address. Of a server that has begun
// anew the node of before may still be there; it is left out.
func (k *Keyring) Others() ([]Server, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if err := k.unknown(); err != nil {
		return nil, err
	}
	all := slices.Collect(maps.Values(k.roll.all))
	slices.SortFunc(all, func(a, b Server) int {
		return cmp.Or(strings.Compare(a.Address, b.Address), strings.Compare(a.IP, b.IP), -cmp.Compare(a.since, b.since))
	})
	all = slices.CompactFunc(all, func(a, b Server) bool { return a.Address == b.Address && a.IP == b.IP })
	own := k.roll.says
	return slices.DeleteFunc(all, func(s Server) bool { return s.Address == own.Address && s.IP == own.IP }), nil
}

// Server returns the server with a key. The error of one that is not there has the code
// Denied; while nobody can tell which are, it has Unavailable.
func (k *Keyring) Server(key string) (Server, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if err := k.unknown(); err != nil {
		return Server{}, err
	}
	s, ok := k.roll.all[key]
	if !ok {
		return Server{}, failf(host.Denied, nil, "no server of this cluster has that key")
	}
	return s, nil
}

// Time is the registry's time, as far as this server knows. Unlike the time by which tokens
// expire it does not follow a clock that is set.
func (k *Keyring) Time() time.Time {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.clock.theirs.Add(time.Since(k.clock.at))
}

// unknown is the error of a question while the servers are not known. The lock is held.
func (k *Keyring) unknown() error {
	why := k.unsure()
	if why == "" {
		why = k.roll.fault
	}
	if why == "" {
		return nil
	}
	return failf(host.Unavailable, nil, "the servers of the cluster are not known at present: %s; try again", why)
}

// keyText is the public half of a key, in hex; empty: there is none.
func keyText(private ed25519.PrivateKey) string {
	if len(private) == 0 {
		return ""
	}
	return hex.EncodeToString(private[ed25519.PrivateKeySize-ed25519.PublicKeySize:])
}

// newKey takes another key for a session. Nodes with the earlier one end with theirs.
func (k *Keyring) newKey() error {
	if k.roll.says.Address == "" {
		return nil
	}
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return fmt.Errorf("make a key of this server: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.roll.own = private
	return nil
}

// readServers returns the servers as they are now, and makes this one known if it is not.
// Nodes of servers are never set, so each is read once.
func (k *Keyring) readServers(ctx context.Context, s registry.Session) (map[string]Server, error) {
	k.mu.RLock()
	own, known := keyText(k.roll.own), k.roll.all
	k.mu.RUnlock()
	n, err := s.Read(ctx, k.tree.Servers())
	if err != nil {
		return nil, readError(err, "read the servers of the cluster")
	}
	if own != "" && !slices.Contains(n.Children, own) {
		if err := k.enroll(ctx, s, own); err != nil {
			return nil, err
		}
		if n, err = s.Read(ctx, k.tree.Servers()); err != nil {
			return nil, readError(err, "read the servers of the cluster")
		}
	}
	all := map[string]Server{}
	for _, key := range clustertree.ServerKeys(n.Children) {
		have, ok := known[key]
		if !ok {
			n, err := s.Read(ctx, k.tree.Server(key))
			if err != nil {
				return nil, readError(err, "read a server of the cluster")
			}
			says, err := clustertree.DecodeServer(n.Data)
			if err != nil { // it has just gone, or is of another release
				continue
			}
			have = Server{key, says.IP, says.Address, n.Stat.Created}
		}
		all[key] = have
	}
	return all, nil
}

// enroll makes this server known to the others.
func (k *Keyring) enroll(ctx context.Context, s registry.Session, own string) error {
	err := session.CreateMissing(ctx, s, []string{k.tree.Servers()})
	if err == nil {
		_, err = s.Commit(ctx, registry.Op{Kind: registry.CreateEphemeral, Path: k.tree.Server(own), Data: k.roll.says.Encode()})
	}
	if err != nil && !errors.Is(err, registry.ErrConflict) { // it is there already
		return readError(err, "make this server known to the others")
	}
	return nil
}
