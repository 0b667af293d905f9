package clustertree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersionsAtTheirBounds(t *testing.T) {
	t.Parallel()
	var all Versions
	for i := range MaxVersions {
		if !all.Add(Version{fmt.Sprintf("%0*d", MaxVersionPart, MaxVersions-i), strings.Repeat("1", MaxVersionPart), hash, lastMoment, strings.Repeat("<", 1000)}) {
			t.Fatal("no room for version", i)
		}
	}
	if all.Add(Version{"a", "1", hash, 1, ""}) {
		t.Error("there is room for one more version")
	}
	got, err := DecodeVersions(all.Encode())
	if diff := cmp.Diff(all, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	first := all.All[0]
	if found := all.Find(first.Name, first.Version); found == nil || *found != first || all.Find(first.Name, "2") != nil {
		t.Errorf("found %v", found)
	}
	if !all.Remove(first.Name, first.Version) || all.Remove(first.Name, first.Version) || all.Find(first.Name, first.Version) != nil {
		t.Error("it is not removed")
	}
}

func TestNamesOfVersions(t *testing.T) {
	t.Parallel()
	for _, v := range []Version{{Name: "orders", Version: "1.4.0"}, {Name: "a-b_c.d", Version: "v1.0.0-rc.1+A_2"}, {Name: "0", Version: "2026-11-28"}} {
		if err := CheckVersion(v.Name, v.Version); err != nil {
			t.Error(err)
		}
	}
	long := strings.Repeat("a", MaxVersionPart+1)
	for _, name := range []string{"", ".", "..", "a/b", "../a", "a..b", "-a", "Orders", "a b", "a@b", "é", "a\n", "a\x00", long} {
		if CheckVersion(name, "1") == nil {
			t.Errorf("%q is a name", name)
		}
	}
	for _, version := range []string{"", ".", "1/2", "../1", "1..2", "+1", "1 2", "1@2", "1\n", long} {
		if CheckVersion("a", version) == nil {
			t.Errorf("%q is a version", version)
		}
	}
}

func TestOtherVersionsAreRefused(t *testing.T) {
	t.Parallel()
	one := Versions{All: []Version{{"a", "1", hash, 1, "ann"}, {"a", "2", hash, 1, "ann"}}}
	good := string(one.Encode())
	if _, err := DecodeVersions([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"a newer form":      strings.Replace(good, `"v":1`, `"v":2`, 1),
		"an unknown key":    strings.Replace(good, `"by"`, `"only":"here","by"`, 1),
		"a path":            strings.Replace(good, `"a"`, `"../a"`, 1),
		"no digest":         strings.Replace(good, hash, "", 1),
		"another order":     strings.Replace(good, `"version":"1"`, `"version":"3"`, 1),
		"one that is twice": strings.Replace(good, `"version":"1"`, `"version":"2"`, 1),
		"no time":           strings.Replace(good, `"at":1`, `"at":0`, 1),
	} {
		if got, err := DecodeVersions([]byte(text)); err == nil {
			t.Errorf("%s is read: %+v", what, got)
		}
	}
}
