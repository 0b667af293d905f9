//go:build !unix

package sandbox

const openNonblock = 0
