package module

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/signature"
	"github.com/wasmjob/wasmjob/internal/signaturetest"
)

// signedBy opens a store in dir that takes modules signed by one of the signers.
func signedBy(t *testing.T, dir string, who ...signaturetest.Signer) *Store {
	t.Helper()
	var texts []string
	for _, w := range who {
		texts = append(texts, w.Public)
	}
	keys, err := signature.ParseKeys(texts)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, keys)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStoreTakesWhatIsSigned(t *testing.T) {
	t.Parallel()
	ann, bob, wasm := signaturetest.New("ann"), signaturetest.New("bob"), []byte("code")
	s := signedBy(t, t.TempDir(), ann)
	for name, sign := range map[string][]byte{"none": nil, "another's": bob.Sign(wasm), "of other bytes": ann.Sign([]byte("other")), "no signature": []byte("x")} {
		if _, err := s.Put(bytes.NewReader(wasm), sign, 100); !errors.Is(err, signature.ErrUnsigned) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) > 0 {
		t.Errorf("left of what was refused: %v, %v", entries, err)
	}
	sign := ann.Sign(wasm)
	d, err := s.Put(bytes.NewReader(wasm), sign, 100)
	if err != nil {
		t.Fatal(err)
	}
	// Neither a missing nor a wrong signature replaces the valid one.
	if _, err := s.Put(bytes.NewReader(wasm), nil, 100); err != nil {
		t.Error(err)
	}
	if err := s.PutAs(bytes.NewReader(wasm), d, bob.Sign(wasm), 100); !errors.Is(err, signature.ErrUnsigned) {
		t.Error(err)
	}
	if got, err := s.Signature(d); err != nil || !bytes.Equal(got, sign) {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := s.Get(d); err != nil || !bytes.Equal(got, wasm) {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := s.Signature("../" + d[3:]); err == nil {
		t.Error("a path is no digest")
	}
}

// A stored module is returned only if the present keys accept it.
func TestStoreGivesWhatIsSigned(t *testing.T) {
	t.Parallel()
	ann, bob, wasm := signaturetest.New("ann"), signaturetest.New("bob"), []byte("code")
	free, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := free.Put(bytes.NewReader(wasm), nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	strict := signedBy(t, free.dir, ann)
	if _, err := strict.Get(d); !errors.Is(err, signature.ErrUnsigned) || !strings.Contains(err.Error(), d) {
		t.Errorf("without a signature: %v", err)
	}
	if _, err := strict.Put(bytes.NewReader(wasm), ann.Sign(wasm), 100); err != nil {
		t.Fatal(err)
	}
	if _, err := strict.Get(d); err != nil {
		t.Errorf("signed afterwards: %v", err)
	}
	if _, err := signedBy(t, free.dir, bob).Get(d); !errors.Is(err, signature.ErrUnsigned) {
		t.Errorf("for another key: %v", err)
	}
	// The signature of another module does not count for this one.
	if err := os.WriteFile(strict.signaturePath(d), ann.Sign([]byte("other")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := strict.Get(d); !errors.Is(err, signature.ErrUnsigned) {
		t.Errorf("with the signature of other bytes: %v", err)
	}
	if err := os.WriteFile(strict.signaturePath(d), bytes.Repeat([]byte("x"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := strict.Get(d); !errors.Is(err, ErrTooBig) {
		t.Errorf("with a huge signature: %v", err)
	}
}

// A store without keys keeps a valid signature for others, and no other text.
func TestSignatureIsKeptForOthers(t *testing.T) {
	t.Parallel()
	s, sign := open(t), signaturetest.New("ann").Sign([]byte("code"))
	if _, err := s.Put(strings.NewReader("code"), []byte("x"), 100); !errors.Is(err, signature.ErrText) {
		t.Errorf("no signature: %v", err)
	}
	d, err := s.Put(strings.NewReader("code"), sign, 100)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Signature(d); err != nil || !bytes.Equal(got, sign) {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := s.Signature(put(t, s, "unsigned")); err != nil || got != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// A store without keys keeps the first signature. A module signed by a key replaces it.
func TestStoredSignatureStays(t *testing.T) {
	t.Parallel()
	s, ann, bob := open(t), signaturetest.New("ann"), signaturetest.New("bob")
	wasm := []byte("code")
	first, other := ann.Sign(wasm), bob.Sign(wasm)
	d, err := s.Put(bytes.NewReader(wasm), first, 100)
	if err != nil {
		t.Fatal(err)
	}
	for name, sign := range map[string][]byte{"the same": first, "none": nil} {
		if err := s.PutAs(bytes.NewReader(wasm), d, sign, 100); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.PutAs(bytes.NewReader(wasm), d, other, 100); !errors.Is(err, ErrSigned) {
		t.Errorf("another: %v", err)
	}
	if got, err := s.Signature(d); err != nil || !bytes.Equal(got, first) {
		t.Errorf("%s, %v", got, err)
	}
	if err := signedBy(t, s.dir, bob).PutAs(bytes.NewReader(wasm), d, other, 100); err != nil {
		t.Errorf("by a key: %v", err)
	}
	if got, err := s.Signature(d); err != nil || !bytes.Equal(got, other) {
		t.Errorf("%s, %v", got, err)
	}
	// A signature that is left without its bytes does not bar another one that comes with
	// them.
	if err := os.Remove(s.path(d)); err != nil {
		t.Fatal(err)
	}
	if err := s.PutAs(bytes.NewReader(wasm), d, first, 100); err != nil {
		t.Errorf("without the bytes: %v", err)
	}
}

// The head of an upload does not cause a read of the stored module. A damaged one counts
// as present; Keep finds the damage.
func TestAdmitReadsNoModule(t *testing.T) {
	t.Parallel()
	s, wasm := open(t), []byte("code")
	first, other := signaturetest.New("ann").Sign(wasm), signaturetest.New("bob").Sign(wasm)
	d, err := s.Put(bytes.NewReader(wasm), first, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path(d), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Admit(d, other); !errors.Is(err, ErrSigned) {
		t.Errorf("another signature at the head: %v", err)
	}
	if err := s.PutAs(bytes.NewReader(wasm), d, other, 100); err != nil {
		t.Errorf("the bytes with it: %v", err)
	}
	if err := os.Remove(s.path(d)); err != nil {
		t.Fatal(err)
	}
	if err := s.Admit(d, first); err != nil {
		t.Errorf("no module at the head: %v", err)
	}
}

// A process that is killed between signature and bytes leaves no bytes, and the next try
// succeeds.
func TestSignatureComesBeforeTheBytes(t *testing.T) {
	t.Parallel()
	ann, wasm := signaturetest.New("ann"), []byte("code")
	s := signedBy(t, t.TempDir(), ann)
	d := Digest(wasm)
	if err := os.Mkdir(s.path(d), 0o700); err != nil { // the file of the bytes cannot be renamed
		t.Fatal(err)
	}
	if _, err := s.Put(bytes.NewReader(wasm), ann.Sign(wasm), 100); err == nil {
		t.Fatal("the bytes took the place of a directory")
	}
	if got, err := s.Signature(d); err != nil || got == nil {
		t.Errorf("the signature is not there before the bytes: %v", err)
	}
	if err := os.Remove(s.path(d)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(iotest.ErrReader(errors.New("torn")), ann.Sign(wasm), 100); err == nil {
		t.Error("a torn module was stored")
	}
	if _, err := s.Put(bytes.NewReader(wasm), nil, 100); err != nil {
		t.Errorf("with the signature that is there: %v", err)
	}
}

func TestSourceBringsItsSignature(t *testing.T) {
	t.Parallel()
	ann, wasm, base := signaturetest.New("ann"), []byte("code"), t.TempDir()
	s := signedBy(t, t.TempDir(), ann)
	write := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(base, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("job.wasm", wasm)
	_, _, err := s.LoadSource("file:job.wasm", "", base, 100)
	want(t, err, signature.ErrUnsigned, "no signature")
	write("job.wasm.minisig", ann.Sign(wasm))
	d, _, err := s.LoadSource("file:job.wasm", "", base, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(base, "job.wasm")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.LoadSource("file:job.wasm", d, base, 100); err != nil {
		t.Errorf("the stored one: %v", err)
	}
	_, _, err = signedBy(t, s.dir, signaturetest.New("bob")).LoadSource("file:job.wasm", d, base, 100)
	want(t, err, signature.ErrUnsigned, "not accepted")
	_, _, err = signedBy(t, s.dir, signaturetest.New("bob")).LoadSource("sha256:"+d, "", base, 100)
	want(t, err, signature.ErrUnsigned, "not accepted")
}

// A signature is removed with its module, and returns with it.
func TestPruneTakesTheSignature(t *testing.T) {
	t.Parallel()
	s, ann := open(t), signaturetest.New("ann")
	old := time.Now().Add(-7 * 24 * time.Hour)
	age := func(paths ...string) {
		t.Helper()
		for _, p := range paths {
			if err := os.Chtimes(p, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	upload := func() {
		t.Helper()
		if _, err := s.Put(strings.NewReader("code"), ann.Sign([]byte("code")), 100); err != nil {
			t.Fatal(err)
		}
	}
	d := Digest([]byte("code"))
	for _, meanwhile := range []bool{false, true} {
		upload()
		age(s.path(d), s.signaturePath(d))
		asked := 0
		gone, err := s.Prune(time.Now().Add(-time.Hour), func() (map[string]bool, error) {
			if asked++; asked == 2 && meanwhile {
				upload()
			}
			return nil, nil //nolint:nilnil // nothing is used
		})
		if err != nil || len(gone) != 1 {
			t.Fatalf("%v, %v", gone, err)
		}
		text, err := s.Signature(d)
		if err != nil || (text != nil) != meanwhile {
			t.Errorf("uploaded meanwhile %v: %q, %v", meanwhile, text, err)
		}
	}
	if _, err := s.Get(d); err != nil {
		t.Error(err)
	}
}

// An upload without a signature relies on the stored one, and keeps that from a
// concurrent prune.
func TestPruneLeavesTheSignatureOfAnUploadWithoutOne(t *testing.T) {
	t.Parallel()
	ann, wasm := signaturetest.New("ann"), []byte("code")
	for name, s := range map[string]*Store{"with keys": signedBy(t, t.TempDir(), ann), "without": open(t)} {
		d, err := s.Put(bytes.NewReader(wasm), ann.Sign(wasm), 100)
		if err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-7 * 24 * time.Hour)
		if err := errors.Join(os.Chtimes(s.path(d), old, old), os.Chtimes(s.signaturePath(d), old, old)); err != nil {
			t.Fatal(err)
		}
		asked := 0
		if _, err := s.Prune(time.Now().Add(-time.Hour), func() (map[string]bool, error) {
			if asked++; asked == 2 {
				_, err := s.Put(bytes.NewReader(wasm), nil, 100)
				return nil, err
			}
			return nil, nil //nolint:nilnil // nothing is used
		}); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(d); err != nil || !bytes.Equal(got, wasm) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if text, err := s.Signature(d); err != nil || !bytes.Equal(text, ann.Sign(wasm)) {
			t.Errorf("%s the signature is %q, %v", name, text, err)
		}
	}
}
