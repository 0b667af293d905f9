package wasmjob

// Secret returns a secret that the job is granted; ErrDenied if it is not. To send a
// secret in the header of a request, use {{secret:name}}, which keeps it out of the
// module.
func (c Context) Secret(name string) (string, error) {
	b, n := read(func(buf []byte) int32 { return c.h.secretGet(name, buf) })
	return string(b), check(n, "read secret", name)
}

// randomAtOnce is how many bytes the host returns in one call.
const randomAtOnce = 64 << 10

// Random fills b with random bytes, which the job must be granted.
func (c Context) Random(b []byte) error {
	for len(b) > 0 {
		part := b[:min(len(b), randomAtOnce)]
		if err := check(c.h.random(part), "take random bytes"); err != nil {
			return err
		}
		b = b[len(part):]
	}
	return nil
}
