package spelling

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// The queue of a latch consists of sequential nodes. Their names follow the library of
// ElasticJob's members (docs/PROTOCOL.md, Latches): a token by which a member recognises
// its own node, and the number by which the queue is sorted.
const (
	LatchPrefix = "_c_"
	LatchName   = "latch-"
)

// Contender returns the token by which a session recognises its places in the queues of
// latches. It has the form of a UUID, as in ElasticJob, and depends on the session alone.
func Contender(session int64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(session))
	h := sha256.Sum256(b[:])
	digits := hex.EncodeToString(h[:16])
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}

// Queue returns the places of a latch in their order, from the names of the nodes below it.
// Token is "" for a name that has none.
func Queue(names []string) []protocol.Contender {
	if len(names) == 0 {
		return nil
	}
	q := make([]protocol.Contender, 0, len(names))
	for _, name := range names {
		if !strings.Contains(name, LatchName) {
			continue // ElasticJob sorts such names behind all places
		}
		c := protocol.Contender{Name: name}
		if rest, ok := strings.CutPrefix(name, LatchPrefix); ok {
			c.Token, _, _ = strings.Cut(rest, "-"+LatchName)
		}
		q = append(q, c)
	}
	slices.SortFunc(q, func(a, b protocol.Contender) int { return cmp.Compare(rank(a.Name), rank(b.Name)) })
	return q
}

// rank returns the text by which a place is sorted: the number at the end of its name.
func rank(name string) string {
	if k := strings.LastIndex(name, LatchName); k >= 0 {
		return name[k+len(LatchName):]
	}
	return name
}

// Whose returns the places with the members that hold them. It knows only members of ours,
// by the tokens of their sessions; Holder is "" for others.
func Whose(q []protocol.Contender, members []protocol.Member) []protocol.Contender {
	if len(q) == 0 {
		return nil
	}
	q = slices.Clone(q)
	for k := range q {
		q[k].Holder = ""
	}
	for _, m := range members {
		token := Contender(m.Owner)
		for k := range q {
			if q[k].Token == token {
				q[k].Holder = m.ID
			}
		}
	}
	return q
}
