package tree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/registry"
)

// codecVersion is the first byte of an encoded tree.
const codecVersion = 1

// errTruncated: the input ends within a value.
var errTruncated = errors.New("input ends within a value")

// Encode appends the tree in its binary form to dst: equal trees give equal bytes. It adds no
// checksum; the code that stores the bytes does.
func (t *Tree) Encode(dst []byte) []byte {
	dst = append(dst, codecVersion)
	dst = binary.AppendVarint(dst, t.revision)
	return t.encode(dst, t.nodes["/"])
}

// encode appends n and everything below it. Each node has the number of its children, so there
// is neither a count of nodes nor an end mark.
func (t *Tree) encode(dst []byte, n *node) []byte {
	kids := t.children(n)
	_, name := split(n.path)
	dst = binary.AppendUvarint(dst, uint64(len(name)))
	dst = append(dst, name...)
	dst = binary.AppendUvarint(dst, uint64(len(n.data)))
	dst = append(dst, n.data...)
	for _, v := range []int64{
		int64(n.owner), n.created, n.modified, n.childrenChanged,
		n.modifiedMS, int64(n.version), int64(n.creates),
	} {
		dst = binary.AppendVarint(dst, v)
	}
	dst = binary.AppendUvarint(dst, uint64(len(kids)))
	for _, kid := range kids {
		dst = t.encode(dst, t.nodes[join(n.path, kid)])
	}
	return dst
}

// Decode reads the format of Encode. It refuses anything that is not a tree: invalid names,
// children out of order or below an ephemeral node, extra bytes. The tree shares memory with b.
func Decode(b []byte) (*Tree, error) {
	if len(b) == 0 || b[0] != codecVersion {
		return nil, errors.New("decode tree: unknown version of the format")
	}
	d := &decoder{rest: b[1:], tree: New()}
	d.tree.revision = d.varint()
	d.root()
	switch {
	case d.err != nil:
	case len(d.rest) > 0:
		d.err = errors.New("bytes after the last node")
	case d.tree.revision < 0:
		d.err = errors.New("negative revision")
	}
	if d.err != nil {
		return nil, fmt.Errorf("decode tree: %w", d.err)
	}
	return d.tree, nil
}

// decoder reads values until the first error, which it keeps.
type decoder struct {
	rest []byte
	tree *Tree
	err  error
}

// root decodes the root, which has no name and no owner, and all nodes below it.
func (d *decoder) root() {
	if name := d.bytes(); len(name) > 0 {
		d.refuse(errors.New("root has a name"))
	}
	root := d.tree.nodes["/"]
	kids := d.fields(root)
	if root.owner != 0 {
		d.refuse(errors.New("root is ephemeral"))
	}
	d.below(root, kids)
}

// below decodes the children of n with a stack of its own, because damaged or malicious input
// may be nested a hundred thousand levels deep.
func (d *decoder) below(n *node, kids uint64) {
	type level struct {
		n    *node
		left uint64
	}
	stack := []level{{n, kids}}
	for len(stack) > 0 && d.err == nil {
		top := &stack[len(stack)-1]
		if top.left == 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		top.left--
		child, kids := d.child(top.n)
		if kids > 0 && d.err == nil {
			stack = append(stack, level{child, kids})
		}
	}
}

// child reads one node below parent, and returns the number of its own children, which come
// next. After an error it returns nil.
func (d *decoder) child(parent *node) (*node, uint64) {
	name := string(d.bytes())
	if d.err != nil {
		return nil, 0
	}
	n := &node{path: join(parent.path, name), parent: parent}
	last := len(parent.kids) - 1
	switch {
	case name == "" || strings.Contains(name, "/") || !validPath(n.path):
		d.refuse(fmt.Errorf("no name for a child of %.200q: %.200q", parent.path, name))
	case last >= 0 && parent.kids[last] >= name:
		d.refuse(fmt.Errorf("children of %.200q out of order", parent.path))
	case parent.owner != 0:
		d.refuse(fmt.Errorf("ephemeral node %.200q has children", parent.path))
	}
	kids := d.fields(n)
	if d.err != nil {
		return nil, 0
	}
	parent.kids = append(parent.kids, name)
	parent.count++
	d.tree.place(n)
	return n, kids
}

// fields reads all fields of a node but its name, and returns the number of its children.
func (d *decoder) fields(n *node) (kids uint64) {
	if data := d.bytes(); len(data) > 0 {
		n.data = slices.Clip(data)
	}
	n.owner = registry.SessionID(d.varint())
	n.created = d.varint()
	n.modified = d.varint()
	n.childrenChanged = d.varint()
	n.modifiedMS = d.varint()
	n.version = d.int32()
	n.creates = d.int32()
	return d.uvarint()
}

// bytes reads bytes with their number before them. They share memory with the input.
func (d *decoder) bytes() []byte {
	size := d.uvarint()
	if size > uint64(len(d.rest)) {
		d.refuse(errTruncated)
		return nil
	}
	b := d.rest[:size]
	d.rest = d.rest[size:]
	return b
}

// int32 reads a number, and refuses one of more than 32 bits.
func (d *decoder) int32() int32 {
	v := d.varint()
	if v != int64(int32(v)) {
		d.refuse(fmt.Errorf("%d is no 32-bit number", v))
	}
	return int32(v)
}

func (d *decoder) varint() int64 {
	v, size := binary.Varint(d.rest)
	d.skip(size)
	return v
}

func (d *decoder) uvarint() uint64 {
	v, size := binary.Uvarint(d.rest)
	d.skip(size)
	return v
}

// skip drops a number of the given size. A size that is not positive stands for a number
// that is cut off or too large.
func (d *decoder) skip(size int) {
	if size <= 0 {
		d.refuse(errTruncated)
		return
	}
	d.rest = d.rest[size:]
}

// refuse keeps the first error and prevents further reading.
func (d *decoder) refuse(err error) {
	if d.err == nil {
		d.err = err
	}
	d.rest = nil
}
