package config

import "reflect"

// fixedSetting is a setting that a running server cannot change, with its value in a File.
type fixedSetting struct {
	key string
	of  func(*File) any
}

// fixed returns the settings that a running server cannot change, in the order of the file. Jobs,
// modules and what only they use are not among them.
func fixed() []fixedSetting {
	return []fixedSetting{
		{"server.ip", func(f *File) any { return f.Server.IP }},
		{"server.data_dir", func(f *File) any { return f.Server.DataDir }},
		{"server.drain_timeout", func(f *File) any { return f.Server.DrainTimeout }},
		{"server.log.level", func(f *File) any { return f.Server.LogLevel }},
		{"server.log.format", func(f *File) any { return f.Server.LogFormat }},
		{"server.labels", func(f *File) any { return f.Server.Labels }},
		{"server.peer_listen", func(f *File) any { return f.Server.Peers.Listen }},
		{"server.peer_address", func(f *File) any { return f.Server.Peers.Address }},
		{"server.peer_token", func(f *File) any { return f.Server.Peers.Token }},
		{"server.monitor_ip", func(f *File) any { return f.Server.MonitorIP }},
		{"admin.listen", func(f *File) any { return f.Admin.Listen }},
		{"admin.tls", func(f *File) any { return f.Admin.TLS }},
		{"registry.kind", func(f *File) any { return f.Registry.Kind }},
		{"registry.namespace", func(f *File) any { return f.Registry.Namespace }},
		{"registry.servers", func(f *File) any { return f.Registry.Servers }},
		{"registry.chroot", func(f *File) any { return f.Registry.Chroot }},
		{"registry.session_timeout", func(f *File) any { return f.Registry.SessionTimeout }},
		{"registry.digest", func(f *File) any { return f.Registry.Digest }},
		{"registry.tls", func(f *File) any { return f.Registry.TLS }},
		{"host.allow", func(f *File) any { return f.Host.Allow }},
		{"host.allow_native_scripts", func(f *File) any { return f.Host.NativeScripts }},
		{"host.memory", func(f *File) any { return f.Host.Memory }},
		{"host.workers", func(f *File) any { return f.Host.Workers }},
		{"host.module_keys", func(f *File) any { return f.Host.ModuleKeys }},
		{"host.secrets", func(f *File) any { return f.Host.Secrets }},
		{"notify", func(f *File) any { return f.Notify }},
		{"history.dsn", func(f *File) any { return f.History.Path + f.History.Address }},
		{"history.password", func(f *File) any { return f.History.Password }},
		{"history.elasticjob_tables", func(f *File) any { return f.History.ElasticJob }},
		{"history.retention.age", func(f *File) any { return f.History.Age }},
		{"history.retention.per_job", func(f *File) any { return f.History.PerJob }},
		{"history.retention.size", func(f *File) any { return f.History.Size }},
	}
}

// NeedsRestart returns the settings, other than jobs and modules, in which next differs from f,
// the configuration of a running server: it uses them only after a restart.
func (f *File) NeedsRestart(next *File) (keys []string) {
	for _, s := range fixed() {
		if !reflect.DeepEqual(s.of(f), s.of(next)) {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// With returns f with the jobs and modules of next, which the server uses from now on. The
// private paths stay, since running guests were checked against them.
func (f *File) With(next *File) *File {
	now := *f
	now.Jobs, now.Modules, now.named = next.Jobs, next.Modules, next.named
	return &now
}
