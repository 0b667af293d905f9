package signature

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"aead.dev/minisign"
)

// Keys of the files in testdata, which minisign 0.11 has made.
const (
	one = "RWTa9r0txty5R4WgGGpg6n6Oma20JKaCCO3vtSgFqaGRTcbKIA9BwUck"
	two = "RWQ+7keo/415gOC9yI7pwLYIZYwQtDYsES6o9fxWOE+ZTnpQ7p77IEwg"
)

func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func keysOf(t testing.TB, texts ...string) Keys {
	t.Helper()
	k, err := ParseKeys(texts)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSignaturesOfMinisign(t *testing.T) {
	t.Parallel()
	wasm := file(t, "bytes")
	both := keysOf(t, two, one)
	for name, want := range map[string]Signed{
		"hashed.minisig": {"47B9DCC62DBDF6DA", "release 1.4.0", true},
		"legacy.minisig": {"47B9DCC62DBDF6DA", "release 1.3.9", true},
		"other.minisig":  {"80798DFFA847EE3E", "by another", true},
	} {
		if got, err := both.Check(wasm, file(t, name)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if got, err := Keys(nil).Check(wasm, file(t, "hashed.minisig")); err != nil || got.Valid || got.Key == "" {
		t.Errorf("without keys: %+v, %v", got, err)
	}
	if got, err := Keys(nil).Check(wasm, nil); err != nil || got != (Signed{}) {
		t.Errorf("without keys and signature: %+v, %v", got, err)
	}
}

// A signature counts only for its bytes and its comment, and by an accepted key.
func TestSignaturesThatDoNotCount(t *testing.T) {
	t.Parallel()
	wasm, hashed := file(t, "bytes"), file(t, "hashed.minisig")
	replaced := func(old, by string) []byte {
		text := bytes.Replace(hashed, []byte(old), []byte(by), 1)
		if bytes.Equal(text, hashed) {
			t.Fatalf("%q is not there", old)
		}
		return text
	}
	lines := func(name string) [][]byte { return bytes.SplitAfter(file(t, name), []byte("\n")) }
	joined := func(from, to string) []byte { // the trusted comment of one on the signature of another
		return slices.Concat(lines(to)[0], lines(to)[1], lines(from)[2], lines(from)[3])
	}
	for _, tt := range []struct {
		name string
		key  string
		text []byte
		says string
	}{
		{"none", one, nil, "it has no signature"},
		{"another key", two, hashed, "signed by key 47B9DCC62DBDF6DA, which is not accepted"},
		{"other bytes", one, file(t, "forother.minisig"), "is of other bytes"},
		{"another comment", one, replaced("release 1.4.0", "release 1.5.0"), "is of other bytes or another comment"},
		{"the comment of another signature", one, joined("legacy.minisig", "hashed.minisig"), "is of other bytes or another comment"},
		// ED signs the hash, Ed the bytes.
		{"another way to sign", one, replaced("RUTa", "RWTa"), "is of other bytes"},
		{"no such way to sign", one, replaced("RUTa", "RVTa"), "cannot be read"},
		{"the id of an accepted key", two, withID(t, hashed, two), "forged"},
		{"nothing", one, []byte("x"), "cannot be read"},
		{"three lines", one, bytes.Join(lines("hashed.minisig")[:3], nil), "cannot be read"},
		{"a fifth line", one, append(bytes.Clone(hashed), "more\n"...), "cannot be read"},
		{"an empty line", one, append(bytes.Clone(hashed), '\n'), "no other characters"},
		{"a line break within", one, replaced("+gRmscx", "+gRm\rscx"), "no other characters"},
		{"lines as on Windows", one, bytes.ReplaceAll(hashed, []byte("\n"), []byte("\r\n")), "no other characters"},
		{"a long comment", one, replaced("release", strings.Repeat("x", MaxSize)), "more than 2048 bytes"},
	} {
		got, err := keysOf(t, tt.key).Check(wasm, tt.text)
		if got.Valid || !errors.Is(err, ErrUnsigned) || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "minisign -Sm") {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
}

// withID returns a signature that claims to be by another key.
func withID(t *testing.T, text []byte, key string) []byte {
	t.Helper()
	s, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s.KeyID = keysOf(t, key)[0].ID()
	text, err = s.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Key ids are not secret: a key with the id of another one neither signs for that nor
// blocks it.
func TestKeysWithTheSameID(t *testing.T) {
	t.Parallel()
	raw := func(key string) []byte {
		b, err := base64.StdEncoding.DecodeString(key)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	twin := base64.StdEncoding.EncodeToString(slices.Concat(raw(one)[:10], raw(two)[10:]))
	wasm, hashed := file(t, "bytes"), file(t, "hashed.minisig")
	if _, err := keysOf(t, twin).Check(wasm, hashed); !errors.Is(err, ErrUnsigned) {
		t.Errorf("the twin alone: %v", err)
	}
	if got, err := keysOf(t, twin, one).Check(wasm, hashed); err != nil || !got.Valid {
		t.Errorf("beside its twin: %+v, %v", got, err)
	}
}

func TestParseKeys(t *testing.T) {
	t.Parallel()
	if k := keysOf(t, one, two); k.Names() != "47B9DCC62DBDF6DA, 80798DFFA847EE3E" {
		t.Errorf("names: %s", k.Names())
	}
	for _, text := range []string{"", "RWQ", one + "\n", " " + one, "untrusted comment: x\n" + one, "RWR" + one[3:] + "A", string(file(t, "hashed.minisig"))} {
		if _, err := ParseKeys([]string{text}); err == nil || !strings.Contains(err.Error(), "56 characters") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := ParseKeys(slices.Repeat([]string{one}, MaxKeys+1)); err == nil {
		t.Error("any number of keys")
	}
}

// A signature has only one valid spelling, and proves nothing by itself.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"hashed.minisig", "legacy.minisig", "other.minisig"} {
		f.Add(file(f, name))
	}
	f.Add([]byte("untrusted comment: \n\ntrusted comment: \n\n"))
	wasm, keys := file(f, "bytes"), keysOf(f, one, two)
	genuine := [][]byte{file(f, "hashed.minisig"), file(f, "legacy.minisig"), file(f, "other.minisig")}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := Parse(text); err == nil {
			s, err := parse(text)
			if err != nil {
				t.Fatal(err)
			}
			again, err := s.MarshalText()
			if err != nil || !bytes.Equal(again, append(bytes.TrimSuffix(bytes.Clone(text), []byte("\n")), '\n')) {
				t.Errorf("%q is written %q, %v", text, again, err)
			}
		}
		signed, err := keys.Check(wasm, text)
		if (err == nil) != signed.Valid {
			t.Errorf("%+v, %v", signed, err)
		}
		if err != nil {
			return
		}
		s, _ := parse(text)
		if !slices.ContainsFunc(genuine, func(g []byte) bool { of, _ := parse(g); return of.Equal(s) }) {
			t.Errorf("a forged signature counts: %q", text)
		}
	})
}

// A signature of the hash is verified without all bytes in memory. The test counts
// allocations.
func TestSignatureOfAStream(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	const size, most = 16 << 20, 1 << 20
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signed := minisign.NewReader(io.LimitReader(zeros{}, size))
	if _, err := io.Copy(io.Discard, signed); err != nil {
		t.Fatal(err)
	}
	text := signed.SignWithComments(private, "zeros", "for tests")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := Keys{public}.CheckFrom(io.LimitReader(zeros{}, size), text)
	runtime.ReadMemStats(&after)
	if err != nil || !got.Valid {
		t.Errorf("%+v, %v", got, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > most {
		t.Errorf("%d bytes allocate %d", size, took)
	}
	if _, err := (Keys{public}).CheckFrom(io.LimitReader(zeros{}, size-1), text); !errors.Is(err, ErrUnsigned) {
		t.Errorf("one byte less: %v", err)
	}
	if _, err := (Keys{public}).CheckFrom(iotest.ErrReader(errors.New("torn")), text); err == nil || !strings.Contains(err.Error(), "torn") {
		t.Errorf("torn: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
