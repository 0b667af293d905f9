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

// Server is a server of the cluster to which the other servers can send requests.
type Server struct {
	Key     string // its public key of Ed25519, in hex
	IP      string // as in the ids of its instances
	Address string // as https://host:port

	since int64 // revision of its node
}

// OwnServer is this server, as the others know it, with its private key.
type OwnServer struct {
	Server
	Private ed25519.PrivateKey
}

// roll is what a Keyring knows of the servers of the cluster.
type roll struct {
	says clustertree.Server // the node of this server; without an address, it is not published
	own  ed25519.PrivateKey // the key of the current session; nil: none
	// all has the servers by key, including this one. If they cannot be read, fault says
	// why.
	all   map[string]Server
	fault string
}

// Introduce sets the address at which the others can ask this server. They identify it by a
// key that is new with each session of the registry. Call it before Run.
func (k *Keyring) Introduce(ip, address string) {
	k.roll.says = clustertree.Server{IP: ip, Address: address}
}

// Own returns this server with its key. Until its node is in the registry, the error has the
// code Unavailable.
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

// Others returns the other servers that can be asked, sorted by address. It leaves out the old
// node of a restarted server, which may still exist.
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
	all = slices.CompactFunc(all, func(a, b Server) bool { return a.Address == b.Address && a.IP == b.IP }) // the newest node stays
	own := k.roll.says
	return slices.DeleteFunc(all, func(s Server) bool { return s.Address == own.Address && s.IP == own.IP }), nil
}

// Server returns the server with a key. For an unknown key, the error has the code Denied;
// while the servers are not known, it has Unavailable.
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

// Time estimates the registry's time. Unlike the time by which tokens expire, it ignores
// changes of this server's wall clock.
func (k *Keyring) Time() time.Time {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.clock.theirs.Add(time.Since(k.clock.at))
}

// unknown is the error while the servers are not known, else nil. mu is held.
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

// newKey makes a key for a new session. The node of an earlier key ends with its session.
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

// readServers reads the servers, and creates the node of this one if it is missing. Nodes of
// servers are never set, so each is read once.
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
			if err != nil { // it was just deleted, or is of another release
				continue
			}
			have = Server{key, says.IP, says.Address, n.Stat.Created}
		}
		all[key] = have
	}
	return all, nil
}

// enroll creates the node by which the others know this server.
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
