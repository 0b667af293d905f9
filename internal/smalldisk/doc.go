// Package smalldisk gives tests a small disk of their own, to fill it up. It
// mounts file systems, which takes root, and is for tests only.
package smalldisk
