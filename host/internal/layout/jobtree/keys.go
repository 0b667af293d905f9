package jobtree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// KeyNodes is a configuration in which each key is a node below config. Its text here is an
// object with the texts of the keys, and the name of the job, which no node has.
type KeyNodes struct{}

// Keys that other packages need as well.
const (
	KeyJobName = "jobName"           // only in the text; no node has it
	KeyCommand = "scriptCommandLine" // its text may have secrets

	keyTotal = "shardingTotalCount"
)

func (j Job) byKeys() bool { return j.added != nil && j.added.Keys != nil }

// keysOf returns those nodes of keys that exist below config, by names as in Watched.
// Unknown keys stay as they are, and are not read. It is nil in layouts where keys are not
// nodes.
func (j Job) keysOf(config registry.Node) []string {
	if !j.byKeys() {
		return nil
	}
	var names []string
	for _, key := range j.added.Keys {
		if slices.Contains(config.Children, key) {
			names = append(names, nodeOfKey(key))
		}
	}
	return names
}

func nodeOfKey(key string) string { return NodeConfig + "/" + key }

// hasText reports whether a node has more than blanks, which a person may leave in it.
func hasText(config registry.Node) bool { return len(bytes.TrimSpace(config.Data)) > 0 }

// Text returns the texts of the keys as one object. If config itself has a text, which no
// job of this layout has, Text returns that, and it is refused later.
func (KeyNodes) Text(in Kept) []byte {
	if !in.Config.Exists || hasText(in.Config) {
		return in.Config.Data
	}
	texts := map[string]string{KeyJobName: in.Name}
	for key, n := range in.Keys {
		texts[key] = string(n.Data)
	}
	return JoinKeys(texts)
}

// JoinKeys returns the text of a configuration with these keys. SplitKeys is its reverse.
func JoinKeys(texts map[string]string) []byte { return jsonvalue.Encode(texts) }

// SplitKeys returns the keys of a text that JoinKeys has made. It ignores values that are
// not texts.
func SplitKeys(text []byte) (map[string]string, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("expected an object with a text for each key: %w", err)
	}
	texts := map[string]string{}
	for key, value := range all {
		var data string
		if json.Unmarshal(value, &data) == nil {
			texts[key] = data
		}
	}
	return texts, nil
}

// Version returns the version of a configuration. It has the version of config, and for
// each key its version and the revision that created it, since a key that is created again
// begins with the same version.
func (KeyNodes) Version(in Kept) protocol.Version {
	versions := []string{string(VersionOf(in.Config))}
	for _, key := range slices.Sorted(maps.Keys(in.Keys)) {
		n := in.Keys[key]
		versions = append(versions, key+"="+string(VersionOf(n))+"@"+strconv.FormatInt(n.Stat.Created, 10))
	}
	return protocol.Version(strings.Join(versions, " "))
}

// versionsOf takes apart what KeyNodes.Version returns. It leaves out the revisions, which
// a transaction cannot check.
func versionsOf(have protocol.Version) (config protocol.Version, keys map[string]protocol.Version) {
	of, rest, _ := strings.Cut(string(have), " ")
	keys = map[string]protocol.Version{}
	for word := range strings.FieldsSeq(rest) {
		key, version, _ := strings.Cut(word, "=")
		version, _, _ = strings.Cut(version, "@")
		keys[key] = protocol.Version(version)
	}
	return protocol.Version(of), keys
}

// CreateConfig creates config and a node for each key, in the order in which members do.
func (KeyNodes) CreateConfig(j Job, c protocol.Spelled) []registry.Op {
	ops := []registry.Op{{Kind: registry.Create, Path: j.at(NodeConfig), Data: []byte{}}}
	texts, _ := SplitKeys(spelling.Bytes(c)) // it was encoded here
	for _, key := range j.added.Keys {
		if text, has := texts[key]; has {
			ops = append(ops, registry.Op{Kind: registry.Create, Path: j.at(nodeOfKey(key)), Data: []byte(text)})
		}
	}
	return ops
}

// SetConfig writes the keys whose texts differ between old and c, as a member does, and
// checks that the others are as they were. A key that the job no longer has stays.
func (KeyNodes) SetConfig(j Job, old, c protocol.Spelled, have protocol.Version) []registry.Op {
	was, _ := SplitKeys(spelling.Bytes(old)) // empty, if nothing was there
	is, _ := SplitKeys(spelling.Bytes(c))
	ops := checkKeys(j, have)
	for n, key := range j.added.Keys {
		op := &ops[n+1] // the first is that of config
		text, has := is[key]
		if was, there := was[key]; !has || there && was == text {
			continue
		}
		if op.Data = []byte(text); op.Kind == registry.Absent {
			op.Kind = registry.Create
		} else {
			op.Kind = registry.Set
		}
	}
	return ops
}

// CheckConfig implements ConfigNodes.
func (KeyNodes) CheckConfig(j Job, have protocol.Version) []registry.Op { return checkKeys(j, have) }

// checkKeys checks config, then each key in order: that it has the version in have, or is
// still missing.
func checkKeys(j Job, have protocol.Version) []registry.Op {
	config, keys := versionsOf(have)
	ops := []registry.Op{{Kind: registry.Check, Path: j.at(NodeConfig), Version: NodeVersion(config)}}
	for _, key := range j.added.Keys {
		op := registry.Op{Kind: registry.Absent, Path: j.at(nodeOfKey(key))}
		if version, there := keys[key]; there {
			op.Kind, op.Version = registry.Check, NodeVersion(version)
		}
		ops = append(ops, op)
	}
	return ops
}

// Keys returns the nodes that hold a configuration in addition to config.
func (j Job) Keys(config registry.Node) []string {
	names := j.keysOf(config)
	for k, name := range names {
		names[k] = j.at(name)
	}
	return names
}

// kept are the nodes of a configuration that has several. A nil one ignores all nodes.
type kept struct {
	Kept

	changed bool
}

// root, config and key record a node. For a layout with the configuration in one node, k is
// nil, and they do nothing.
func (k *kept) root(n registry.Node) {
	if k != nil {
		k.Root, k.changed = n, true
	}
}

// config records the node config; see root.
func (k *kept) config(n registry.Node) {
	if k != nil {
		k.Config, k.changed = n, true
	}
}

// key records the node of a key.
func (k *kept) key(key string, n registry.Node) {
	if k == nil {
		return
	}
	if k.changed = true; n.Exists {
		k.Keys[key] = n
	} else {
		delete(k.Keys, key)
	}
}

// resolveConfig decodes a configuration of several nodes, once all of them are known.
func (d *Decoder) resolveConfig() {
	if d.kept != nil && d.kept.changed {
		d.kept.changed = false
		d.configured(d.kept.Kept)
	}
}

// configured decodes the configuration into the view. The newest write of any of its nodes
// counts as its last one.
func (d *Decoder) configured(in Kept) {
	v, s := d.v, in.Config.Stat
	for key, n := range in.Keys {
		if key == keyTotal { // the core needs to know whether the total has changed
			s.Version = n.Stat.Version
		}
		if n.Stat.Modified > s.Modified {
			s.Modified, s.ModifiedAt = n.Stat.Modified, n.Stat.ModifiedAt
		}
	}
	v.ConfigVersion = d.j.dialect.Version(in)
	v.ConfigModified, v.ConfigModifiedAt, v.ConfigSets = s.Modified, s.ModifiedAt.UnixMilli(), s.Version
	v.Definition.Config = spelling.Spelled(d.j.dialect.Text(in))
	c, err := d.j.decodeConfig(in)
	d.faults.set(NodeConfig, err)
	d.config = c
}
