package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// A log is a header followed by frames. A frame has a length, the checksum of the payload, a
// checksum of these two, and the payload: one record. The checksum of a frame's header also
// covers the number of the log and the position of the frame in it. So a frame is valid only in
// its own place, and a search for intact frames after a damaged one computes payload checksums
// only for real frames.
const (
	frameHeader = 12

	recordCommit byte = 1 // a transaction of a session
	recordEnd    byte = 2 // the end of a session
	recordSynced byte = 3 // the log up to this point was on the disk when this was written
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is one transaction of the tree, or a note about the log itself. Applying the same ops
// to the same tree gives the same tree, so a record needs no more than the ops.
type record struct {
	kind     byte
	revision int64 // of the transaction
	nowMS    int64
	owner    registry.SessionID
	ops      []registry.Op
	synced   int64 // of a recordSynced: number of durable bytes of the log
}

// appendFrame appends r to dst as the frame at offset of log number seq.
func appendFrame(dst []byte, r record, seq uint64, offset int64) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, frameHeader)...)
	dst = appendRecord(dst, r)
	header, payload := dst[start:start+frameHeader], dst[start+frameHeader:]
	binary.LittleEndian.PutUint32(header[0:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(header[4:], crc32.Checksum(payload, castagnoli))
	binary.LittleEndian.PutUint32(header[8:], headerSum(header, seq, offset))
	return dst
}

// headerSum returns the checksum of the header of the frame at offset of log number seq.
func headerSum(header []byte, seq uint64, offset int64) uint32 {
	var b [24]byte
	binary.LittleEndian.PutUint64(b[0:], seq)
	binary.LittleEndian.PutUint64(b[8:], uint64(offset))
	copy(b[16:], header[:8])
	return crc32.Checksum(b[:], castagnoli)
}

// frameAt returns the payload of the frame at offset of log number seq. If there is no intact
// frame, problem says what is wrong; otherwise it is "".
func frameAt(log []byte, seq uint64, offset int64) (payload []byte, problem string) {
	rest := log[offset:]
	if len(rest) < frameHeader {
		return nil, "it ends within the header of a record"
	}
	if binary.LittleEndian.Uint32(rest[8:]) != headerSum(rest, seq, offset) {
		return nil, "the checksum of a record's header differs"
	}
	size := int64(binary.LittleEndian.Uint32(rest))
	if size > int64(len(rest)-frameHeader) {
		return nil, "it ends within a record"
	}
	payload = rest[frameHeader : frameHeader+size]
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(rest[4:]) {
		return nil, "the checksum of a record differs"
	}
	return payload, ""
}

// appendRecord appends a record, without a frame, to dst.
func appendRecord(dst []byte, r record) []byte {
	dst = append(dst, r.kind)
	if r.kind == recordSynced {
		return binary.AppendVarint(dst, r.synced)
	}
	dst = binary.AppendVarint(dst, r.revision)
	dst = binary.AppendVarint(dst, r.nowMS)
	dst = binary.AppendVarint(dst, int64(r.owner))
	if r.kind != recordCommit {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(r.ops)))
	for i := range r.ops {
		op := &r.ops[i]
		dst = append(dst, byte(op.Kind))
		dst = binary.AppendUvarint(dst, uint64(len(op.Path)))
		dst = append(dst, op.Path...)
		dst = binary.AppendUvarint(dst, uint64(len(op.Data)))
		dst = append(dst, op.Data...)
		dst = binary.AppendVarint(dst, int64(op.Version))
	}
	return dst
}

// parseRecord reads the format of appendRecord. The result shares no memory with b.
func parseRecord(b []byte) (record, error) {
	p := parser{rest: b}
	r := record{kind: p.byte()}
	if r.kind == recordSynced {
		r.synced = p.varint()
	} else {
		r.revision, r.nowMS, r.owner = p.varint(), p.varint(), registry.SessionID(p.varint())
	}
	switch r.kind {
	case recordCommit:
		// An op takes at least four bytes. A greater count is wrong, and must not determine an
		// allocation.
		count := p.uvarint()
		if count > uint64(len(p.rest)/4) {
			return record{}, errors.New("more ops than bytes")
		}
		r.ops = make([]registry.Op, count)
		for i := range r.ops {
			op := &r.ops[i]
			op.Kind = registry.OpKind(p.byte())
			op.Path = string(p.bytes())
			op.Data = slices.Clone(p.bytes()) // otherwise a small node would keep a whole log in memory
			version := p.varint()
			op.Version = int32(version)
			p.bad = p.bad || int64(op.Version) != version
		}
	case recordEnd, recordSynced:
	default:
		return record{}, fmt.Errorf("record of unknown kind %d", r.kind)
	}
	if p.bad || len(p.rest) > 0 {
		return record{}, errors.New("record is not well formed")
	}
	return r, nil
}

// apply applies r to t. An error means that r does not follow from t.
func (r *record) apply(t *tree.Tree) error {
	switch r.kind {
	case recordCommit:
		if _, _, err := t.Apply(r.owner, r.nowMS, r.ops); err != nil {
			return fmt.Errorf("transaction %d does not apply: %w", r.revision, err)
		}
	case recordEnd:
		t.EndSession(r.owner, r.nowMS)
	case recordSynced:
		return nil
	}
	if t.Revision() != r.revision {
		return fmt.Errorf("transaction %d comes where %d should", r.revision, t.Revision())
	}
	return nil
}

// parser reads values. After the first invalid value, bad stays true and all further values are
// zero.
type parser struct {
	rest []byte
	bad  bool
}

// take returns the next bytes. If there are fewer, the record is bad, and take returns nil.
func (p *parser) take(size uint64) []byte {
	if p.bad || size > uint64(len(p.rest)) {
		p.bad, p.rest = true, nil
		return nil
	}
	b := p.rest[:size:size]
	p.rest = p.rest[size:]
	return b
}

// byte reads one byte; 0 if the record is bad.
func (p *parser) byte() byte {
	if b := p.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (p *parser) bytes() []byte { return p.take(p.uvarint()) }

func (p *parser) varint() int64 {
	v, size := binary.Varint(p.rest)
	p.skip(size)
	return v
}

func (p *parser) uvarint() uint64 {
	v, size := binary.Uvarint(p.rest)
	p.skip(size)
	return v
}

// skip drops a number of the given size; a size that is not positive stands for an invalid
// number.
func (p *parser) skip(size int) {
	if size <= 0 {
		p.bad, p.rest = true, nil
		return
	}
	p.rest = p.rest[size:]
}
