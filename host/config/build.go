package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host/internal/signature"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/internal/oci"
)

// Defaults for keys that the file lacks.
const (
	defaultData    = "data"
	defaultDrain   = 30 * time.Second
	defaultSession = 30 * time.Second
	historyFile    = "history.db"
)

// builder makes a File from the values that were read.
type builder struct {
	*reader
	file          File
	laid          map[string]place    // as in File
	dirLimitFault bool                // the directories in [host.allow] have a fault
	listed        map[string][]string // the days of each calendar
	httpFault     bool                // http in [host.allow] has a fault
}

// get returns the value of the first path that has a valid value of type T, or instead.
func get[T any](b *builder, instead T, paths ...string) T {
	for _, path := range paths {
		if v, ok := b.values[path].is.(T); ok && !b.values[path].refused {
			return v
		}
	}
	return instead
}

// fault reports a problem of the value of a table's key, at its place or, if it is not set, at
// the table's. sub is the part of the value that has the fault, such as [0] or .name; "": all.
func (b *builder) fault(table, key, sub string, why reason.Reason) {
	path := joinPath(table, key)
	at := b.named[table]
	if v := b.values[path]; v.at.file != "" {
		at = v.at
		if inside, ok := v.inside[sub]; ok {
			at = inside
		}
	}
	b.report(at.problem(path+sub, why))
}

// joinPath returns the path of a table's key. One of the two may be empty.
func joinPath(table, key string) string {
	if table == "" || key == "" {
		return table + key
	}
	return table + "." + key
}

// build reads all tables. The order matters: jobs are checked against what [host], [notify],
// modules and calendars have.
func (b *builder) build() *File {
	b.laid = map[string]place{}
	b.server()
	b.registry()
	b.file.Server.Peers = b.peers()
	b.host()
	b.history()
	b.file.Admin = b.admin()
	for _, path := range sortedNames(b.named) {
		if name, ok := strings.CutPrefix(path, "modules."); ok {
			b.module(path, unquoteKey(name))
		}
		if name, ok := strings.CutPrefix(path, "notify."); ok {
			b.notifier(path, unquoteKey(name))
		}
	}
	b.file.private, b.listed = b.private(), b.calendars()
	for _, path := range sortedNames(b.named) {
		if name, ok := strings.CutPrefix(path, "jobs."); ok {
			b.job(path, unquoteKey(name))
		}
	}
	b.order()
	b.file.named, b.file.laid = b.named, b.laid
	return &b.file
}

// unquoteKey reverts quoteKey: it returns the name that a part of a path stands for.
func unquoteKey(name string) string {
	if plain, err := strconv.Unquote(name); err == nil {
		return plain
	}
	return name
}

// server reads the table [server] except for its peers.
func (b *builder) server() {
	s := Server{
		IP:           get(b, "", "server.ip"),
		DataDir:      b.path("server.data_dir", defaultData),
		DrainTimeout: get(b, defaultDrain, "server.drain_timeout"),
		LogFormat:    get(b, "auto", "server.log.format"),
	}
	// The schema accepts only names that slog knows.
	_ = s.LogLevel.UnmarshalText([]byte(get(b, slog.LevelInfo.String(), "server.log.level")))
	s.MonitorIP = get(b, "", "server.monitor_ip")
	for key, ip := range map[string]string{"ip": s.IP, "monitor_ip": s.MonitorIP} {
		if _, err := netip.ParseAddr(ip); b.isSet("server."+key) && ip != "" && err != nil {
			b.fault("server", key, "", reason.Of(reason.AddressInvalid, strconv.Quote(ip)))
		}
	}
	s.Labels = b.labels()
	b.file.Server = s
}

// Bounds on labels, since each server's labels travel through the registry.
const (
	maxLabels = 64
	maxLabel  = 256
)

// labels returns the labels of this server.
func (b *builder) labels() map[string]string {
	labels := get(b, map[string]string(nil), "server.labels")
	if len(labels) > maxLabels {
		b.fault("server", "labels", "", reason.Of(reason.TooManyLabels, strconv.Itoa(len(labels)), strconv.Itoa(maxLabels)))
	}
	for _, name := range sortedNames(labels) {
		sub := "." + quoteKey(name)
		switch {
		case !isName(name):
			b.fault("server", "labels", sub, reason.Of(reason.LabelName, strconv.Quote(name)))
		case len(labels[name]) > maxLabel || !utf8.ValidString(labels[name]):
			b.fault("server", "labels", sub, reason.Of(reason.LabelTooLong, strconv.Itoa(maxLabel)))
		}
	}
	return labels
}

// isName reports whether s is a valid name of a label, a secret or a notifier.
func isName(name string) bool {
	for _, r := range name {
		alphanumeric := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !alphanumeric && r != '_' && r != '.' && r != '-' {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// host reads the table [host].
func (b *builder) host() {
	b.file.Host = Host{
		NativeScripts: get(b, false, "host.allow_native_scripts"),
		Memory:        get(b, int64(0), "host.memory"),
		Workers:       int(get(b, int64(0), "host.workers")),
		ModuleKeys:    b.keys("host.module_keys"),
		Secrets:       b.secrets(),
	}
	b.file.Host.Allow = b.grantLimits()
}

// module reads the table [modules.<name>] at path. Its source is a file or an artifact.
func (b *builder) module(path, name string) {
	m := Module{Name: name, SHA256: strings.ToLower(get(b, "", path+".sha256"))}
	source := get(b, "", path+".source")
	switch {
	case !b.isSet(path + ".source"):
		b.fault(path, "", "", reason.Of(reason.SourceMissing))
	case b.values[path+".source"].refused: // already reported
	case oci.Is(source):
		m.Artifact = source
		if _, err := oci.Parse(source); errors.Is(err, oci.ErrCredentials) {
			b.fault(path, "source", "", reason.Of(reason.SourceSecret))
		} else if err != nil {
			b.fault(path, "source", "", reason.Of(reason.SourceReference, fmt.Sprintf("%.100q", source)))
		}
	default:
		m.Path = b.source(path, source)
	}
	if digest, err := hex.DecodeString(m.SHA256); b.isSet(path+".sha256") && !b.values[path+".sha256"].refused && (err != nil || len(digest) != 32) {
		b.fault(path, "sha256", "", reason.Of(reason.DigestUnreadable))
	}
	m.Keys = b.keys(path + ".keys")
	for _, one := range m.Keys { // the server accepts only its own keys, so a module with another one could never run
		if all := b.file.Host.ModuleKeys; len(all) > 0 && !slices.Contains(all, one) {
			b.fault(path, "keys", "", reason.Of(reason.KeyNotAccepted, strconv.Quote(one)))
		}
	}
	b.file.Modules = append(b.file.Modules, m)
}

// keys reads the public keys at a path, one of which must sign modules. It returns the valid ones.
// An empty list is a fault, because it would turn the check off.
func (b *builder) keys(key string) []string {
	keys := get(b, []string(nil), key)
	if !b.isSet(key) || b.values[key].refused {
		return keys
	}
	if len(keys) == 0 {
		b.fault("", key, "", reason.Of(reason.KeysEmpty))
	}
	if len(keys) > signature.MaxKeys {
		b.fault("", key, "", reason.Of(reason.TooManyKeys, strconv.Itoa(signature.MaxKeys)))
	}
	return slices.DeleteFunc(keys, func(one string) bool {
		_, err := signature.ParseKeys([]string{one})
		if err != nil {
			b.fault("", key, "", reason.Of(reason.KeyUnreadable, strconv.Quote(one)))
		}
		return err != nil
	})
}

// source returns the path of the file from which a module comes: source is "file:path" or a path.
// module is the path of the module's table. A path may begin with two slashes, as in a URL.
func (b *builder) source(module, source string) string {
	rest, isFile := strings.CutPrefix(source, "file:")
	if u, err := url.Parse(source); !isFile && err == nil && u.Scheme != "" {
		if u.Scheme == "https" {
			b.fault(module, "source", "", reason.Of(reason.SourceNotServed, u.Scheme))
		} else {
			b.fault(module, "source", "", reason.Of(reason.SourceUnknown, strconv.Quote(u.Scheme)))
		}
		return ""
	}
	rest = strings.TrimPrefix(rest, "//")
	if rest == "" {
		b.fault(module, "source", "", reason.Of(reason.SourceEmpty))
		return ""
	}
	return b.resolve(b.values[module+".source"].at, rest)
}

// path returns the value of a key as an absolute path, or instead if the key is not set. A
// relative instead starts at the folder of the first file.
func (b *builder) path(key, instead string) string {
	path := get(b, "", key)
	if path != "" {
		return b.resolve(b.values[key].at, path)
	}
	if b.isSet(key) && !b.values[key].refused {
		b.fault("", key, "", reason.Of(reason.PathEmpty))
	}
	return b.resolve(place{file: b.main}, instead)
}

// resolve makes a path absolute, relative to the folder of the file that contains it, so that a
// configuration means the same wherever the server starts.
func (b *builder) resolve(at place, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.dirs[at.file], path)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return path // there is no working directory; opening the path reports that
	}
	return full
}
