package wasmjob

// Secret is a secret that the job is granted; ErrDenied if it is not. To send
// one in the header of a request, {{secret:name}} keeps it out of the module.
func (c Context) Secret(name string) (string, error) {
	b, n := read(func(buf []byte) int32 { return c.h.secretGet(name, buf) })
	return string(b), check(n, "read secret", name)
}

// randomAtOnce is how much the host gives in one call.
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
