package clustertree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Bounds of idempotency keys. They are spread over 256 nodes.
const (
	// KeyAge is how long a key is remembered.
	KeyAge = 24 * time.Hour
	// MaxKeys bounds the keys in one node, and MaxKeysOf those of one caller in it, so one
	// caller leaves room for others.
	MaxKeys   = 128
	MaxKeysOf = MaxKeys / 2
	maxKeys   = MaxKeys * 900
	keyDigits = 32
	maxKeyJob = 2 * maxJob
	byDigits  = 8
)

// Key is what the registry stores of an idempotency key: the first half of its SHA-256, in
// hex. Clients choose the key freely.
type Key string

// KeyOf returns the Key of a client's idempotency key.
func KeyOf(presented string) Key {
	sum := sha256.Sum256([]byte(presented))
	return Key(hex.EncodeToString(sum[:])[:keyDigits])
}

// Keys is the value of one node, the oldest key first.
type Keys struct {
	V   int       `json:"v"`
	All []KeyUsed `json:"keys"`
}

// KeyUsed is a key with its first use.
type KeyUsed struct {
	Key Key    `json:"key"`
	Job string `json:"job"`
	At  int64  `json:"at"`
	By  string `json:"by,omitempty"` // of CallerOf
}

// CallerOf returns a short text that distinguishes callers by their names.
func CallerOf(name string) string { return string(KeyOf(name))[:byDigits] }

// For reports whether the key was used for a job.
func (k KeyUsed) For(job string) bool { return k.Job == short(job, maxKeyJob) }

// DecodeKeys reads the value of a node; an empty value has no keys.
func DecodeKeys(data []byte) (Keys, error) {
	var k Keys
	if err := decodeIfAny(data, maxKeys, &k, &k.V); err != nil {
		return Keys{}, err
	}
	if len(k.All) > MaxKeys {
		return Keys{}, fmt.Errorf("it has %d keys, the limit is %d", len(k.All), MaxKeys)
	}
	for _, one := range k.All {
		if !isHex(string(one.Key), keyDigits) || short(one.Job, maxKeyJob) != one.Job || !isMoment(one.At) || one.By != "" && !isHex(one.By, byDigits) {
			return Keys{}, errors.New("a key in it is not what this release writes")
		}
	}
	return k, nil
}

// Encode returns the value of the node that holds the keys.
func (k *Keys) Encode() []byte {
	k.V = version
	if k.All == nil {
		k.All = []KeyUsed{}
	}
	return encode(k)
}

// Use returns the caller's first use of a key within KeyAge; again is true if there was one
// before. If there was none, it adds now and drops older uses of all keys. room is false if
// there is no room for one more of the caller.
func (k *Keys) Use(now KeyUsed) (first KeyUsed, again, room bool) {
	var young []KeyUsed
	same := 0 // keys of this caller
	for _, one := range k.All {
		if now.At-one.At >= KeyAge.Milliseconds() {
			continue
		}
		if one.Key == now.Key && one.By == now.By {
			return one, true, true
		}
		young = append(young, one)
		if one.By == now.By {
			same++
		}
	}
	if len(young) >= MaxKeys || same >= MaxKeysOf {
		return KeyUsed{}, false, false
	}
	now.Job = short(now.Job, maxKeyJob)
	k.All = append(young, now)
	return now, false, true
}
