package clustertree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of versions.
const (
	MaxVersions    = 1000
	MaxVersionPart = 64 // bytes of a name, and of a version
	// maxVersions bounds the text of all, below the 1 MiB of a request to ZooKeeper.
	maxVersions = MaxVersions * 900
)

// Versions are modules that have a name, ascending by name and version.
type Versions struct {
	V   int       `json:"v"`
	All []Version `json:"versions"`
}

// Version names a module. The same name and version always mean the same bytes.
type Version struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	At      int64  `json:"at"`
	By      string `json:"by"`
}

// String returns the version as operators type it.
func (v Version) String() string { return v.Name + "@" + v.Version }

const lower = "abcdefghijklmnopqrstuvwxyz0123456789"

// CheckVersion returns an error if a name or a version cannot be used.
func CheckVersion(name, version string) error {
	switch {
	case !isPart(name, lower, "._-"):
		return fmt.Errorf("%.80q is no name of a module: write up to %d lower-case letters, digits, full stops, _ and -, and begin with a letter or digit", name, MaxVersionPart)
	case !isPart(version, lower+strings.ToUpper(lower), "._+-"):
		return fmt.Errorf("%.80q is no version of a module: write up to %d letters, digits, full stops, _, + and -, and begin with a letter or digit, as 1.4.0", version, MaxVersionPart)
	}
	return nil
}

// isPart reports whether s is a name or a version: the first character is one of first, the
// others are of first or more.
func isPart(s, first, more string) bool {
	return s != "" && len(s) <= MaxVersionPart && strings.Contains(first, s[:1]) && strings.Trim(s, first+more) == "" && !strings.Contains(s, "..")
}

// DecodeVersions reads the value of the node; an empty value has none.
func DecodeVersions(data []byte) (Versions, error) {
	var v Versions
	if err := decodeIfAny(data, maxVersions, &v, &v.V); err != nil {
		return Versions{}, err
	}
	if len(v.All) > MaxVersions {
		return Versions{}, fmt.Errorf("it has %d versions, the limit is %d", len(v.All), MaxVersions)
	}
	for i, one := range v.All {
		if CheckVersion(one.Name, one.Version) != nil || !isHex(one.Digest, hashDigits) || !isMoment(one.At) || short(one.By, maxWho) != one.By {
			return Versions{}, errors.New("a version in it is not what this release writes")
		}
		if i > 0 && byVersion(v.All[i-1], one) >= 0 {
			return Versions{}, errors.New("the versions are not sorted")
		}
	}
	return v, nil
}

// byVersion orders modules by name, then by version.
func byVersion(a, b Version) int {
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return strings.Compare(a.Version, b.Version)
}

// Find returns the module with a name and version; nil if there is none.
func (v *Versions) Find(name, version string) *Version {
	i, ok := slices.BinarySearchFunc(v.All, Version{Name: name, Version: version}, byVersion)
	if !ok {
		return nil
	}
	return &v.All[i]
}

// Add names a module; name and version must be free. It reports whether there was room.
func (v *Versions) Add(one Version) bool {
	if len(v.All) >= MaxVersions {
		return false
	}
	one.By = short(one.By, maxWho)
	i, _ := slices.BinarySearchFunc(v.All, one, byVersion)
	v.All = slices.Insert(slices.Clip(v.All), i, one)
	return true
}

// Remove removes a name and version, and reports whether they existed.
func (v *Versions) Remove(name, version string) bool {
	n := len(v.All)
	v.All = slices.DeleteFunc(slices.Clone(v.All), func(one Version) bool { return one.Name == name && one.Version == version })
	return len(v.All) < n
}

// Encode returns the value of the node.
func (v *Versions) Encode() []byte {
	v.V = version
	if v.All == nil {
		v.All = []Version{}
	}
	return encode(v)
}
