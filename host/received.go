package host

import (
	"errors"
	"io"
	"syscall"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/signature"
	"github.com/wasmjob/wasmjob/host/internal/supply"
)

// Signing is the signature of a module, and the keys of which one must have made it.
type Signing struct {
	Keys      []string // public keys in minisign's format, of which one must have signed; without any, a signature is not required
	Signature []byte   // in minisign's text format; nil if there is none
}

// ReceivedModule is a module on a server's disk that jobs do not find before Keep. The caller
// of ReceiveModule closes it.
type ReceivedModule struct {
	staged *module.Staged
	dir    string
}

// ReceiveModule copies r into a file in the data directory dir of a server, which may be
// running. After an error nothing of it is left. keys are those of Signing.
func ReceiveModule(dir string, r io.Reader, keys []string) (*ReceivedModule, error) {
	accepted, err := signature.ParseKeys(keys)
	if err != nil {
		return nil, failf(Invalid, err, "keys of modules")
	}
	staged, err := supply.Dir(dir).Stage(r, accepted)
	if err != nil {
		return nil, unkept(err, dir)
	}
	return &ReceivedModule{staged, dir}, nil
}

// AdmitModule returns the error for a module that must be refused whatever its bytes are,
// because of its signature and the signature that the server with the data directory dir has
// for this digest. The digest is empty if it is not known yet.
func AdmitModule(dir, digest string, s Signing) error {
	accepted, err := signature.ParseKeys(s.Keys)
	if err != nil {
		return failf(Invalid, err, "keys of modules")
	}
	if digest != "" {
		if err := module.CheckDigest(digest); err != nil {
			return failf(Invalid, err, "keep a module")
		}
	}
	return unkept(supply.Dir(dir).Admit(digest, s.Signature, accepted), dir)
}

// Size returns the number of bytes.
func (m *ReceivedModule) Size() int64 { return m.staged.Size() }

// ReadAt implements io.ReaderAt. It also works after Keep.
func (m *ReceivedModule) ReadAt(b []byte, at int64) (int, error) { return m.staged.ReadAt(b, at) }

// Keep puts the module into the server's store, where it runs only once a job uses it. If the
// digest differs, or a required signature is missing or wrong, the error is Invalid. sign is
// the text of the signature; if it is empty, the one that the server already has counts.
func (m *ReceivedModule) Keep(digest string, sign []byte) error {
	if err := module.CheckDigest(digest); err != nil {
		return failf(Invalid, err, "keep a module")
	}
	return unkept(m.staged.Keep(digest, sign), m.dir)
}

// Check returns the error with which Keep would refuse the module.
func (m *ReceivedModule) Check(digest string, sign []byte) error {
	if err := module.CheckDigest(digest); err != nil {
		return failf(Invalid, err, "keep a module")
	}
	return unkept(m.staged.Check(digest, sign), m.dir)
}

// Close removes the file unless it was kept.
func (m *ReceivedModule) Close() error { return unkept(m.staged.Close(), m.dir) }

// unkept converts an error of the module store in dir to an *Error. It returns nil for nil.
func unkept(err error, dir string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, module.ErrPin), errors.Is(err, module.ErrTooBig), errors.Is(err, signature.ErrUnsigned), errors.Is(err, signature.ErrText):
		return failf(Invalid, err, "keep a module")
	case errors.Is(err, module.ErrSigned):
		return failf(Refused, err, "keep a module")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return failf(Unavailable, err, "keep a module: the disk with %s is full; make room there, for example with module prune", dir)
	}
	return failf(Internal, err, "keep a module in %s", dir)
}
