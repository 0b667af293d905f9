package strategy

// JavaHash returns what String.hashCode returns in Java: a polynomial in 31 over
// the UTF-16 code units, in wrapping 32-bit arithmetic. All members of a job must
// agree on it, in whatever language they are written.
func JavaHash(s string) int32 {
	var h int32
	for _, r := range s {
		if r >= 0x10000 {
			h = 31*h + 0xd800 + (r-0x10000)>>10
			r = 0xdc00 + (r-0x10000)&0x3ff
		}
		h = 31*h + r
	}
	return h
}
