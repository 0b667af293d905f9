package config

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/internal/oci"
)

// Private returns the paths that no job is granted: the server's data, the files of
// its secrets, and, for writing, the files that it starts with.
func (f *File) Private() []job.Private { return slices.Clone(f.private) }

// private returns the paths that no job is granted. If a guest could write to a
// file of the configuration, or to a module, the server would trust that at its
// next start.
func (b *builder) private() []job.Private {
	f := &b.file
	all := []job.Private{host.DataPrivate(f.Server.DataDir)}
	add := func(path, what string, readable bool) {
		if path == "" {
			return
		}
		if abs, err := filepath.Abs(path); err == nil { // else there is no working directory
			all = append(all, job.Private{Path: abs, What: what, Readable: readable})
		}
	}
	add(f.History.Path, "the history", false)
	for _, s := range slices.Concat(f.Host.Secrets, []Secret{f.Registry.Digest, f.Server.Peers.Token, f.History.Password}) {
		add(s.File, "the file of a secret", false)
	}
	if f.Registry.TLS != nil {
		add(f.Registry.TLS.Key, "the key of this server", false)
	}
	add(f.Admin.TLS.Key, "the key of this server", false)
	add(f.Admin.TLS.Cert, "the certificate of this server", true)
	add(f.Admin.TLS.ClientCA, "who signs the certificates of operators", true)
	if slices.ContainsFunc(f.Modules, func(m Module) bool { return m.Artifact != "" }) {
		credentials, ca := oci.FilesOf(b.env.lookup)
		add(credentials, "who asks registries of artifacts", false)
		add(ca, "who signs the certificates of registries of artifacts", true)
	}
	for _, path := range sortedNames(b.dirs) {
		if path != stdin {
			add(path, "the configuration", true)
		}
	}
	// A directory that holds one module of a folder holds all, and each is looked at
	// whenever a directory is opened.
	seen := map[string]bool{}
	for _, m := range f.Modules {
		if m.Path == "" { // an artifact
			continue
		}
		folder := filepath.Dir(m.Path)
		if info, err := os.Lstat(m.Path); err == nil && info.Mode()&os.ModeSymlink != 0 {
			folder = m.Path // which leads elsewhere
		}
		if !seen[folder] {
			add(m.Path, "a module", true)
		}
		seen[folder] = true
	}
	return all
}
