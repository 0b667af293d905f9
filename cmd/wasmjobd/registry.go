package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
)

// withRegistry calls do with the registry of the cluster, and closes it afterwards. For the
// embedded registry it passes nil: a host creates that itself.
func withRegistry(f *config.File, access config.Access, readOnly bool, log *slog.Logger, do func(registry.Registry) error) error {
	if f.Registry.Kind != config.ZooKeeper {
		return do(nil)
	}
	r, err := zk.New(zk.Options{
		Servers: f.Registry.Servers, Chroot: f.Registry.Chroot, SessionTimeout: f.Registry.SessionTimeout,
		Digest: access.Digest, TLS: access.TLS, ReadOnly: readOnly, Logger: log,
	})
	if err != nil {
		return exitf(exitInvalid, "registry: %w", err)
	}
	log.Info("the registry is a ZooKeeper", "servers", strings.Join(f.Registry.Servers, ","), "chroot", f.Registry.Chroot, "namespace", f.Registry.Namespace,
		"digest", access.Digest != "", "tls", access.TLS != nil)
	return errors.Join(do(r), r.Close())
}

// registryDir returns the directory of the registry inside, which host.OpenRegistry opens.
func registryDir(dataDir string) string { return filepath.Join(dataDir, "registry") }

// warnOfUnused warns if a server on ZooKeeper has a registry inside, from an earlier configuration.
// Whoever changed that may think that the server goes on with what is in there.
func warnOfUnused(dataDir string, log *slog.Logger) {
	unused := registryDir(dataDir)
	if _, err := os.Stat(unused); err == nil {
		log.Warn("this server has a registry inside that it does not use, since [registry] names a ZooKeeper: pauses, tokens, state of guests and jobs without a file stay there; move the directory away when nothing in it is needed",
			"directory", unused)
	}
}

// serverIP returns the address that identifies this server in a shared registry. chosen is false if
// the configuration names it, and true if it was chosen among the addresses of this machine.
func serverIP(f *config.File) (ip string, chosen bool, err error) {
	if f.Server.IP != "" {
		return f.Server.IP, false, nil
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return "", false, fmt.Errorf("list the addresses of this machine: %w", err)
	}
	var all []netip.Addr
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			return "", false, fmt.Errorf("list the addresses of %s: %w", i.Name, err)
		}
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				all = append(all, p.Addr())
			}
		}
	}
	a, ok := ownAddress(all)
	if !ok {
		return "", false, exitf(exitInvalid, "this machine has no IPv4 address but loopback that could identify it; set ip in [server]")
	}
	return a.String(), true, nil
}

// ownAddress chooses like ElasticJob: an IPv4 address that is not loopback, and a public one
// rather than a private one. Of several it takes the first, since bridges to containers come
// late.
func ownAddress(all []netip.Addr) (netip.Addr, bool) {
	var found netip.Addr
	for _, a := range all {
		switch {
		case !a.Is4() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified():
		case !a.IsPrivate():
			return a, true
		case !found.IsValid():
			found = a
		}
	}
	return found, found.IsValid()
}
