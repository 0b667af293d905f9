package sandbox

import (
	"maps"
	"sync"
)

// maxMasks is how many masks are cached, one for each set of secrets.
const maxMasks = 64

// masks caches masks: all runs of a job have the same secrets, and creating a mask
// takes longer than most runs.
type masks struct {
	mu   sync.Mutex // guards the fields below
	made []madeMask
}

type madeMask struct {
	secrets map[string]string
	mask    *mask
}

// maskFor returns the mask for secrets by name. It drops all masks when there are too
// many.
func (k *masks) maskFor(secrets map[string]string) *mask {
	if len(secrets) == 0 {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range k.made {
		if maps.Equal(m.secrets, secrets) {
			return m.mask
		}
	}
	if len(k.made) == maxMasks {
		k.made = nil
	}
	m := newMask(secrets)
	k.made = append(k.made, madeMask{maps.Clone(secrets), m})
	return m
}
