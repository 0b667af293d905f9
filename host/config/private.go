package config

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/internal/oci"
)

// Private returns the paths that no job may be granted: the server's data, the files of its
// secrets, and, for writing, the files that it starts with.
func (f *File) Private() []job.Private { return slices.Clone(f.private) }

// private returns the paths that no job may be granted. If a guest could write to a file of the
// configuration, or to a module, the server would trust the result at its next start.
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
	secrets := slices.Concat(f.Host.Secrets, []Secret{f.Registry.Digest, f.Server.Peers.Token, f.History.Password})
	for i := range f.Notify {
		secrets = append(secrets, f.Notify[i].Webhook, f.Notify[i].Key, f.Notify[i].Mail.Password)
	}
	for _, s := range secrets {
		add(s.File, "the file of a secret", false)
	}
	if f.Registry.TLS != nil {
		add(f.Registry.TLS.Key, "the key of this server", false)
	}
	add(f.Admin.TLS.Key, "the key of this server", false)
	add(f.Admin.TLS.Cert, "the certificate of this server", true)
	add(f.Admin.TLS.ClientCA, "the authority for operators' certificates", true)
	if slices.ContainsFunc(f.Modules, func(m Module) bool { return m.Artifact != "" }) {
		credentials, ca := oci.FilesOf(b.env.lookup)
		add(credentials, "the credentials for registries of artifacts", false)
		add(ca, "the authority for certificates of registries of artifacts", true)
	}
	for _, path := range sortedNames(b.dirs) {
		if path != stdin {
			add(path, "the configuration", true)
		}
	}
	// Each private path is checked whenever a directory is opened, so one module stands for all
	// modules of a folder: no granted directory reaches only some of them.
	seen := map[string]bool{}
	for _, m := range f.Modules {
		if m.Path == "" { // it is an artifact
			continue
		}
		folder := filepath.Dir(m.Path)
		if info, err := os.Lstat(m.Path); err == nil && info.Mode()&os.ModeSymlink != 0 {
			folder = m.Path // the link leads to another folder
		}
		if !seen[folder] {
			add(m.Path, "a module", true)
		}
		seen[folder] = true
	}
	return all
}
