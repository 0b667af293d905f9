package gson

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

// pet is an object with each kind of value.
type pet struct {
	name  string
	legs  int32
	tame  bool
	sound noise
	chip  string
}

type noise string

func (n *noise) Word() string { return string(*n) }

func (n *noise) SetWord(text string) error {
	if *n = noise(text); text != "MOO" && text != "WOOF" {
		return fmt.Errorf("%q is no sound", text)
	}
	return nil
}

func (p *pet) object() *Object {
	return &Object{Members: []Member{
		{Key: "name", Value: &p.name},
		{Key: "legs", Value: &p.legs},
		{Key: "tame", Value: &p.tame},
		{Key: "sound", Value: &p.sound},
		{Key: "more", Value: &Object{Begin: func() { p.chip = "" }, Members: []Member{{Key: "chip", Value: &p.chip}}}},
	}}
}

// Reading returns what was written, and only values that change are rewritten.
func TestObjects(t *testing.T) {
	t.Parallel()
	want := pet{"a=<b>", 4, true, "WOOF", "7"}
	const written = `{"name":"a\u003d\u003cb\u003e","legs":4,"tame":true,"sound":"WOOF","more":{"chip":"7"}}`
	if got := string(want.object().Append(nil)); got != written {
		t.Errorf("wrote %s, want %s", got, written)
	}
	for _, c := range []struct{ text, updated string }{
		{written, written},
		{"# all of it\n{name:'a=<b>' ; legs=\"4\"; tame=>true, sound:WOOF, more:{chip:7}}", "# all of it\n{name:'a=<b>' ; legs=\"4\"; tame=>true, sound:WOOF, more:{chip:7}}"},
		{`{"name":"c","own":[1,{}],"legs":4,"tame":true,"sound":"MOO","more":{}}`, `{"name":"a\u003d\u003cb\u003e","own":[1,{}],"legs":4,"tame":true,"sound":"WOOF","more":{"chip":"7"}}`},
		{"{}", `{"name":"a\u003d\u003cb\u003e","legs":4,"tame":true,"sound":"WOOF","more":{"chip":"7"}}`},
	} {
		var there pet
		o := there.object()
		if err := Read([]byte(c.text), o); err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		got := o.Update([]byte(c.text), want.object())
		if string(got) != c.updated {
			t.Errorf("%s became %s, want %s", c.text, got, c.updated)
		}
		var again pet
		if err := Read(got, again.object()); err != nil || again != want {
			t.Errorf("%s says %+v, %v", got, again, err)
		}
	}
}

// The names are what Java reads from these bytes.
func TestBytesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"\xff":                     "\ufffd",
		"\xff\xff":                 "\ufffd\ufffd",
		"\xe4\xb8":                 "\ufffd",
		"\xe4\xb8\xe4\xb8\xad":     "\ufffd\u4e2d",
		"\xe4a\xb8":                "\ufffda\ufffd",
		"\xc2":                     "\ufffd",
		"\xc0\xaf":                 "\ufffd\ufffd",
		"\xe0\x80\xaf":             "\ufffd\ufffd\ufffd",
		"\xed\xa0\x80":             "\ufffd",
		"\xed\xa0\xbd\xed\xb8\x80": "\ufffd\ufffd",
		"\xf0\x90\x80a":            "\ufffda",
		"\xf0\x9f\x98a":            "\ufffda",
		"\xf0\x8f\x80":             "\ufffd\ufffd\ufffd",
		"\xf4\x90\x80\x80":         "\ufffd\ufffd\ufffd\ufffd",
		"\xf5\x80\x80":             "\ufffd\ufffd\ufffd",
		"\\\xe4\xb8b":              "\ufffdb",
		"\xb8\xb8a":                "\ufffd\ufffda",
		"\xed\x9f":                 "\ufffd",
		"\xef\xbf\xbd":             "\ufffd",
		"a\xe4":                    "a\ufffd",
	} {
		var p pet
		if err := Read([]byte(`{"name":"`+name+`"}`), p.object()); err != nil || p.name != want {
			t.Errorf("%q: got %+q, %v, want %+q", name, p.name, err, want)
		}
	}
}

func TestObjectsThatAreNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"sound":"BAA"}`:         `sound: at byte 14: "BAA" is no sound`,
		`{"more":{"other":1}}`:    `more: key "other": at byte 17: Java members can't read a configuration with this key here`,
		`{"name":"a"} {}`:         "at byte 12: something stands behind the object",
		`[]`:                      "at byte 0: an object was expected",
		`{"name":"a" "legs":4}`:   "at byte 12: a comma or the end of the object was expected",
		`/* a comment {"legs":4}`: "at byte 0: the comment has no end",
	} {
		var p pet
		if err := Read([]byte(text), p.object()); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	var p pet
	if err := Read([]byte(" // nothing"), p.object()); !errors.Is(err, io.EOF) {
		t.Errorf("nothing gives %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{`{"name":"a","more":{"chip":"7"}}`, "{a:'b';}", "[[[", "{\"legs\":1e3}", "\ufeff{}", ")]}'\n{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var there pet
		o := there.object()
		if Read(text, o) != nil || there.sound == "" {
			return
		}
		want := there
		want.legs++
		var got pet
		if err := Read(o.Update(text, want.object()), got.object()); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	})
}
