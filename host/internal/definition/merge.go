package definition

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
)

// Merge merges a job of a server's file with the registry's definition, where either
// node may be missing. For each key:
//
//   - if the file has the value that was applied last, the registry's value stays:
//     it may be an operator's later change;
//   - it stays too if this server last applied the file with the same value: another
//     server's file, which is newer, was applied since;
//   - if the registry has the value that was applied last, the file's value is taken;
//   - if both differ from that, and from each other, the registry's value stays, and
//     the key is in dispute until the two agree or the file says overwrite.
//
// If nothing was applied before, every difference is in dispute, except for keys that
// only one side has and default values of the file. A pinned module stays whatever the
// file says. The result includes what was applied, for the next merge.
func Merge(file Definition, config Config, module *Module) (Merged, error) {
	file, there := sides(file, config, module)
	m := merger{overwrite: file.Config.Facts().Overwrite, unsaid: file.unsaid, said: file.said, says: map[string]string{}, pinned: there.Module.Pinned}
	mine, err := file.tree()
	if err != nil {
		return Merged{}, err
	}
	theirs, err := there.tree()
	if err != nil {
		return Merged{}, err
	}
	all, base := m.merge("", there.Module.base, mine, theirs)
	d, err := definitionOf(all, file, there.Module)
	d.Module.base, d.said = base, m.says
	return Merged{Definition: d, Changed: m.changed, Disputed: m.disputed, Taken: m.taken, Drifted: m.drifted}, err
}

// sides makes the two definitions comparable. A node that the registry lacks counts as the file has it.
func sides(file Definition, config Config, module *Module) (mine, there Definition) {
	if there.Config = file.Config; config != nil {
		file.adopt(config, module)
		there.Config = config
	}
	if module != nil {
		there.Module = *module
	}
	file.Module.Code = known(file.Module.Code, there.Module.Wanted())
	file.Module.Strategy = known(file.Module.Strategy, there.Module.Strategy)
	if module == nil {
		there.Module = file.Module
	}
	return file, there
}

// agrees reports whether the registry agrees with the file.
func (d *Definition) agrees(there *Definition) bool {
	return d.Config == there.Config && reflect.DeepEqual(d.Module.settings, there.Module.settings) &&
		sameCode(d.Module.Code, there.Module.Wanted()) && sameCode(d.Module.Strategy, there.Module.Strategy)
}

func sameCode(a, b *Code) bool { return a == b || a != nil && b != nil && a.Digest == b.Digest }

// Merged is the result of Merge. Changed lists the keys whose values change in the
// registry. Disputed lists the keys whose values stay although the file has others.
type Merged struct {
	Definition
	Changed  []string
	Disputed []Dispute

	Taken   []Dispute // the values of Changed
	Drifted []Dispute // values that the registry got after this file's; they stay
}

// Dispute is a key with different values in the registry and a file. A missing one is empty.
type Dispute struct {
	Key, Registry, File string
	// Older is set if this file has not changed, and another server's was applied since.
	Older bool
}

func (d Dispute) String() string {
	text := fmt.Sprintf("%s: the registry has %s, this server's file %s", d.Key, shown(d.Registry), shown(d.File))
	if d.Older {
		text += " (" + d.Because() + ")"
	}
	return text
}

// Because returns why the registry's value stays.
func (d Dispute) Because() string {
	if d.Older {
		return "another server's file was applied since this one was changed"
	}
	return "nobody knows which is newer"
}

// maxShown bounds the shown part of a value.
const maxShown = 100

func shown(value string) string {
	switch {
	case value == "":
		return "nothing"
	case len(value) > maxShown:
		return strings.ToValidUTF8(value[:maxShown], "") + "…"
	}
	return value
}

// adopt fills in values that a file cannot express from the registry's configuration and
// module, so that the file does not seem to change them. The class is filled in only if
// the file names none and does not overwrite.
func (d *Definition) adopt(there Config, module *Module) {
	class := ""
	if module != nil && d.Module.settings.Class == "" && !d.Config.Facts().Overwrite {
		class = module.settings.Class
		d.Module.settings.Class = class
	}
	d.Config = d.Config.Adopt(there, class)
}

// known returns a file's module, or the registry's if the file's digest is unknown.
func known(file, there *Code) *Code {
	if file == nil || file.Digest != "" {
		return file
	}
	if there == nil || there.Digest == "" {
		return nil
	}
	return there
}

// branch holds settings by their keys: branches or, as leaves, texts. The keys of the two
// nodes differ, so one branch holds both.
type branch = map[string]any

// tree returns all settings of a definition and, as settings too, the digests of its modules.
func (d *Definition) tree() (branch, error) {
	config, err := d.Config.Object()
	if err != nil {
		return nil, err
	}
	t := branch{}
	for _, text := range [][]byte{config, d.Module.settings.text()} {
		more, err := treeOf(text)
		if err != nil { // cannot fail: the text was encoded here
			return nil, err
		}
		maps.Copy(t, more)
	}
	if c := d.Module.Wanted(); c != nil {
		t[keyModule] = string(jsonvalue.Encode(c.Digest))
	}
	if c := d.Module.Strategy; c != nil {
		t[keyStrategyModule] = string(jsonvalue.Encode(c.Digest))
	}
	return t, nil
}

const (
	keyModule         = "module"
	keyStrategyModule = "strategy_module"
)

// treeOf decodes an object into a tree. Values other than objects are leaves; empty ones
// are left out.
func treeOf(text []byte) (branch, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("take a definition apart: %w", err)
	}
	t := make(branch, len(members))
	for _, key := range slices.Sorted(maps.Keys(members)) {
		value := members[key]
		if value[0] != '{' {
			var b bytes.Buffer
			if err := json.Compact(&b, value); err != nil {
				return nil, fmt.Errorf("take a definition apart: %w", err)
			}
			if text := b.String(); text != "null" && text != "[]" {
				t[key] = text
			}
			continue
		}
		inner, err := treeOf(value)
		if err != nil {
			return nil, err
		}
		t[key] = inner
	}
	return t, nil
}

// appendTree encodes a tree of treeOf.
func appendTree(b []byte, t branch) []byte {
	b = append(b, '{')
	for i, key := range slices.Sorted(maps.Keys(t)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, jsonvalue.Encode(key)...), ':')
		switch v := t[key].(type) {
		case branch:
			b = appendTree(b, v)
		case string:
			b = append(b, v...)
		}
	}
	return append(b, '}')
}

// definitionOf builds a definition from a tree. It takes the modules from the side whose
// digest the tree has.
func definitionOf(t branch, file Definition, there Module) (Definition, error) {
	text := appendTree(nil, t)
	config, err := file.Config.FromObject(text)
	if err != nil {
		return Definition{}, err
	}
	d := Definition{Config: config}
	if d.Module.settings, _, err = readSettings(text); err != nil {
		return Definition{}, fmt.Errorf("put a definition together: %w", err)
	}
	d.Module.Code, d.Module.Next, d.Module.Past = there.Code, there.Next, there.Past
	switch c := byDigest(t[keyModule], there.Wanted(), file.Module.Code); {
	case c == there.Wanted(): // nothing changes
	case there.Code == nil || c == nil || c.Digest == there.Code.Digest:
		d.Module.Code, d.Module.Next = c, nil
	default: // the next module, once every member has it
		d.Module.Next = c
	}
	d.Module.Pinned = there.Pinned && d.Module.Code != nil
	d.Module.Strategy = byDigest(t[keyStrategyModule], there.Strategy, file.Module.Strategy)
	return d, nil
}

// byDigest returns the first of the modules whose digest is the leaf; nil if none has it.
func byDigest(leaf any, codes ...*Code) *Code {
	for _, c := range codes {
		if c != nil && leaf == string(jsonvalue.Encode(c.Digest)) {
			return c
		}
	}
	return nil
}

// merger is one application of the rule.
type merger struct {
	overwrite bool
	pinned    bool // the registry's module stays, unless the file has none
	unsaid    map[string]bool
	said      map[string]string // what the file said before, by path; nil if unknown
	says      map[string]string // the file's values, to be kept
	changed   []string
	disputed  []Dispute
	taken     []Dispute
	drifted   []Dispute
}

// merge merges every key of the three branches. applied is the base of the next merge.
func (m *merger) merge(at string, base, file, there branch) (merged, applied branch) {
	merged, applied = branch{}, branch{}
	keys := maps.Clone(base)
	if keys == nil {
		keys = branch{}
	}
	maps.Copy(keys, file)
	maps.Copy(keys, there)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		path := at + nameOf(key)
		f, fileTree := file[key].(branch)
		t, thereTree := there[key].(branch)
		if fileTree || thereTree {
			b, _ := base[key].(branch)
			inner, was := m.merge(path+".", b, f, t)
			if len(inner) > 0 {
				merged[key] = inner
			}
			if len(was) > 0 {
				applied[key] = was
			}
			continue
		}
		value, was := m.leaf(path, base[key], file[key], there[key])
		if value != there[key] {
			m.changed = append(m.changed, path)
			m.taken = append(m.taken, Dispute{path, leafText(there[key]), leafText(value), false})
		}
		if value != nil {
			merged[key] = value
		}
		if was != nil {
			applied[key] = was
		}
	}
	return merged, applied
}

// leaf decides a single key: its value in the registry, and what its base is for the next
// merge. Absence is nil. base and the file's former values are kept as digests.
func (m *merger) leaf(path string, base, file, there any) (value, applied any) {
	said := digestOf(file)
	switch {
	case file == there:
		m.note(path, said)
		return file, said
	case m.pinned && path == keyModule && file != nil: // the pin holds against every file
		m.keep(path)
		m.drifted = append(m.drifted, Dispute{path, leafText(there), leafText(file), false})
		return there, base
	case m.overwrite:
		m.note(path, said)
		return file, said
	case base == said: // the file says what was applied last; the registry may have an operator's change
		m.note(path, said)
		m.drifted = append(m.drifted, Dispute{path, leafText(there), leafText(file), false})
		return there, said
	case m.unsaid[path] && !m.changedInFile(path, said): // a default, and the file had no other value before
		return there, base
	case m.old(path, said): // the file has not changed, so another server's file was applied since
		m.note(path, said)
		m.disputed = append(m.disputed, Dispute{path, leafText(there), leafText(file), true})
		return there, base
	case base == digestOf(there): // only the file has changed
		m.note(path, said)
		return file, said
	default: // both have changed
		m.keep(path)
		m.disputed = append(m.disputed, Dispute{path, leafText(there), leafText(file), false})
		return there, base
	}
}

// leafText formats a leaf for people, without the escapes of Java's texts.
func leafText(leaf any) string {
	text, _ := leaf.(string)
	var plain string
	if json.Unmarshal([]byte(text), &plain) != nil {
		return text // not a string
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(plain) != nil {
		return text
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// digestOf returns a short text that identifies a leaf in later comparisons.
func digestOf(leaf any) any {
	text, ok := leaf.(string)
	if !ok {
		return nil
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// nameOf returns a key's name in jobs.toml.
func nameOf(key string) string {
	if key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return key
	}
	return strconv.Quote(key)
}

// maxBase is the depth of a base.
const maxBase = 4

// checkBase refuses a base that merge would not write.
func checkBase(t branch, depth int) error {
	for _, key := range slices.Sorted(maps.Keys(t)) {
		switch v := t[key].(type) {
		case string:
		case branch:
			if depth == maxBase {
				return errors.New("it is nested too deeply")
			}
			if err := checkBase(v, depth+1); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%.100q is neither text nor object", key)
		}
	}
	return nil
}
