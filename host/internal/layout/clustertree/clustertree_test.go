package clustertree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/registry"
)

var hash = strings.Repeat("0a", hashDigits/2)

// The root is outside the namespace: no part of it is the namespace, or below it.
func TestRootIsOutsideTheNamespace(t *testing.T) {
	t.Parallel()
	for namespace, want := range map[string]string{"jobs": "/jobs.wasmjobd", "a/b": "/a/b.wasmjobd", "/a/": "/a.wasmjobd"} {
		tree := Of(namespace)
		if tree.Root() != want {
			t.Errorf("%s: %s, want %s", namespace, tree.Root(), want)
		}
		jobs := "/" + strings.Trim(namespace, "/")
		for _, path := range []string{tree.Root(), tree.Tokens(), tree.Audit(), tree.Row("row-1"), tree.Keys(KeyOf("k"))} {
			if registry.Within(path, jobs) || !registry.ValidPath(path) {
				t.Errorf("%s is in the namespace, or no path", path)
			}
		}
		if Reserved(namespace) || !Reserved(tree.Root()) || !Reserved(tree.Tokens()) {
			t.Errorf("%s: its name, or that of its root, is taken for the other", namespace)
		}
	}
	if diff := cmp.Diff([]string{"/a", "/a/b.wasmjobd", "/a/b.wasmjobd/audit", "/a/b.wasmjobd/keys"}, Of("a/b").Parents()); diff != "" {
		t.Error(diff)
	}
}

// fullTokens returns the greatest number of tokens, each as long as possible.
func fullTokens() Tokens {
	var all Tokens
	for i := range MaxTokens {
		name := fmt.Sprintf("%0*d", MaxTokenName, i)
		all.Add(Token{Name: name, Role: strings.Repeat("r", maxRole), Hash: hash, Created: lastMoment, Until: lastMoment, By: strings.Repeat(`"`, maxWho)})
	}
	return all
}

// The largest value of each kind is within its bound, and is read again.
func TestValuesAtTheirBounds(t *testing.T) {
	t.Parallel()
	tokens := fullTokens()
	if tokens.Add(Token{Name: "z"}) {
		t.Error("there is room for one more token")
	}
	got, err := DecodeTokens(tokens.Encode())
	if diff := cmp.Diff(tokens, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, c := range []string{"x", `"`, "\x1b", "\xff", "é", "…", "語", "<"} {
		long := strings.Repeat(c, 1000)
		row := Row{0, long, long, long, long, long, long, long, long, long}.Encode()
		if back, err := DecodeRow(row); err != nil || back.Who == "" || strings.ContainsRune(back.Who, 0x1b) || !utf8.ValidString(back.Who) {
			t.Errorf("a row of %q, %d bytes: %+v, %v", c, len(row), back, err)
		}
	}
	var keys Keys
	for _, by := range []string{"ann", "ben"} {
		for i := range MaxKeysOf {
			if _, again, room := keys.Use(KeyUsed{KeyOf(fmt.Sprint(by, i)), strings.Repeat("<", 1000), lastMoment - 1, CallerOf(by)}); again || !room {
				t.Error("no room for key", i, "of", by)
			}
		}
		if _, _, room := keys.Use(KeyUsed{KeyOf("more"), "j", lastMoment - 1, CallerOf(by)}); room {
			t.Error("there is room for one more key of", by)
		}
	}
	if _, _, room := keys.Use(KeyUsed{KeyOf("more"), "j", lastMoment - 1, CallerOf("cid")}); room {
		t.Error("there is room for one more key")
	}
	back, err := DecodeKeys(keys.Encode())
	if diff := cmp.Diff(keys, back); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// Nothing that this release would not write is read.
func TestOtherTextsAreRefused(t *testing.T) {
	t.Parallel()
	one := Tokens{All: []Token{{Name: "a", Role: "viewer", Hash: hash, Created: 1, By: "ann"}}}
	good := string(one.Encode())
	if _, err := DecodeTokens([]byte(good)); err != nil {
		t.Fatal(good, err)
	}
	for what, text := range map[string]string{
		"a newer version":      strings.Replace(good, `"v":1`, `"v":2`, 1),
		"no version":           strings.Replace(good, `"v":1,`, ``, 1),
		"an unknown key":       strings.Replace(good, `"by"`, `"only":"here","by"`, 1),
		"a key that is twice":  strings.Replace(good, `"by"`, `"role":"admin","by"`, 1),
		"a key in capitals":    strings.Replace(good, `"by"`, `"By"`, 1),
		"another hash":         strings.Replace(good, hash, hash[1:], 1),
		"a hash in capitals":   strings.Replace(good, hash, strings.ToUpper(hash), 1),
		"an odd name":          strings.Replace(good, `"a"`, `"a\u001b[1m"`, 1),
		"no role":              strings.Replace(good, `"viewer"`, `""`, 1),
		"a time before all":    strings.Replace(good, `"created":1`, `"created":-1`, 1),
		"more text":            good + "{}",
		"a name that is twice": string((&Tokens{All: []Token{one.All[0], one.All[0]}}).Encode()),
		"nothing":              "null",
	} {
		if got, err := DecodeTokens([]byte(text)); err == nil {
			t.Errorf("%s is read: %+v", what, got)
		}
	}
}

// A key is known for a day, to its caller alone, and names the job that it was used for.
func TestKeysAreKnownForADay(t *testing.T) {
	t.Parallel()
	const day = 24 * 60 * 60 * 1000
	var k Keys
	use := func(key, job string, at int64, again bool, first int64) {
		t.Helper()
		used, was, room := k.Use(KeyUsed{KeyOf(key), job, at, ""})
		if was != again || used.At != first || !room {
			t.Errorf("%s at %d: %+v, again %v, room %v", key, at, used, was, room)
		}
	}
	use("a", "one", 1, false, 1)
	use("a", "one", day, true, 1)
	use("b", "one", day, false, day)
	use("a", "one", day+1, false, day+1)
	if other, was, room := k.Use(KeyUsed{KeyOf("a"), "two", day + 2, CallerOf("ann")}); was || !room || !other.For("two") {
		t.Errorf("the key of another caller: %+v, again %v", other, was)
	}
	k.All = k.All[:2]
	if len(k.All) != 2 || !k.All[1].For("one") || k.All[1].For("two") {
		t.Errorf("kept are %+v", k.All)
	}
}

func TestRowNumbers(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int64{"row-0000000000": 0, "row-0000000123": 123, "row-123": -1, "row--000000001": -1, "0000000001": -1, "row-": -1, "row-+000000001": -1} {
		n, ok := RowNumber(name)
		if ok != (want >= 0) || ok && (n != want || RowName(n) != name) {
			t.Errorf("%s: %d, %v", name, n, ok)
		}
	}
}

func TestTokenNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ci", "ann@example.org", "a-b_c.D9", strings.Repeat("x", MaxTokenName)} {
		if err := CheckTokenName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "-f", ".", "..", "a b", "a/b", "a\x1b[2J", "a\n", "é", "a\xff", strings.Repeat("x", MaxTokenName+1)} {
		if err := CheckTokenName(name); err == nil || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func FuzzValues(f *testing.F) {
	tokens := Tokens{All: []Token{{Name: "a", Role: "viewer", Hash: hash, Created: 1, Until: 2, By: "ann"}}}
	keys := Keys{All: []KeyUsed{{KeyOf("a"), "j", 1, CallerOf("ann")}}}
	f.Add(tokens.Encode())
	cancels := Cancels{All: []Cancel{{Job: "j", Item: 1, Run: "17", Attempt: 2, At: 1}}}
	f.Add(keys.Encode())
	f.Add(cancels.Encode())
	sessions := Sessions{All: []Session{{hash, hash, 1}}}
	f.Add(sessions.Encode())
	f.Add(Row{Who: "ann", Way: "socket", Verb: "job pause", Job: "j", Before: "<on>", After: "é"}.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		if v, err := DecodeTokens(data); err == nil && len(data) > 0 && !bytes.Equal(v.Encode(), data) {
			t.Errorf("tokens %q become %q", data, v.Encode())
		}
		if v, err := DecodeKeys(data); err == nil && len(data) > 0 && !bytes.Equal(v.Encode(), data) {
			t.Errorf("keys %q become %q", data, v.Encode())
		}
		if v, err := DecodeCancels(data); err == nil && len(data) > 0 && !bytes.Equal(v.Encode(), data) {
			t.Errorf("cancels %q become %q", data, v.Encode())
		}
		if v, err := DecodeSessions(data); err == nil && len(data) > 0 && !bytes.Equal(v.Encode(), data) {
			t.Errorf("sessions %q become %q", data, v.Encode())
		}
		if v, err := DecodeRow(data); err == nil && !bytes.Equal(v.Encode(), data) {
			t.Errorf("a row %q becomes %q", data, v.Encode())
		}
	})
}

func FuzzShort(f *testing.F) {
	f.Add("abc", 3)
	f.Add("a<\x1b\xff…", 9)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 3 + int(uint(limit)%300)
		got := short(s, limit)
		text, err := json.Marshal(got)
		if err != nil || len(text)-2 > limit || short(got, limit) != got {
			t.Errorf("%q in %d: %q, %s, then %q", s, limit, got, text, short(got, limit))
		}
	})
}

// The newest requests to cancel runs are kept, and read as they were written.
func TestCancelsAreBounded(t *testing.T) {
	t.Parallel()
	var c Cancels
	for i := range MaxCancels + 3 {
		if !c.Add(Cancel{Job: strings.Repeat("<", 100), Item: i, Run: "17", Attempt: 1, Now: true, At: lastMoment}) {
			t.Fatal("request", i, "is not taken")
		}
	}
	back, err := DecodeCancels(c.Encode())
	if err != nil || len(back.All) != MaxCancels || back.All[0].Item != 3 {
		t.Errorf("%d requests, error %v", len(back.All), err)
	}
	for _, bad := range []Cancel{
		{Run: "1", Attempt: 1}, {Job: "j\x1b", Run: "1", Attempt: 1}, {Job: strings.Repeat("j", 1000), Run: "1", Attempt: 1},
		{Job: "j", Run: strings.Repeat("1", 200), Attempt: 1}, {Job: "j", Run: "1"}, {Job: "j", Run: "1", Attempt: 1, Item: -1},
	} {
		if c.Add(bad) {
			t.Errorf("taken: %+v", bad)
		}
		if _, err := DecodeCancels((&Cancels{All: []Cancel{bad}}).Encode()); err == nil {
			t.Errorf("read: %+v", bad)
		}
	}
}
