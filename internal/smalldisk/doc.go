// Package smalldisk gives tests a disk of their own that is soon full. It is not for
// programs: it mounts, which takes root.
package smalldisk
