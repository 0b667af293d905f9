// Package smalldisk gives tests a small disk to fill up. It mounts file systems, which
// requires root, and is only for tests.
package smalldisk
