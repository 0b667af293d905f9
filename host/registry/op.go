package registry

// OpKind is the kind of one operation in a transaction.
type OpKind uint8

const (
	// Create creates a persistent node; refused with NodeExists or NoParent.
	Create OpKind = iota + 1
	// CreateEphemeral creates a node that ends with the session.
	CreateEphemeral
	// CreateSequential creates a persistent node whose name ends in ten digits.
	CreateSequential
	// CreateEphemeralSequential is both CreateEphemeral and CreateSequential.
	CreateEphemeralSequential
	// Set replaces the value, if Version is AnyVersion or the node's.
	Set
	// Delete removes a node without children; Version as for Set.
	Delete
	// Check is refused unless the node exists and Version is AnyVersion or the node's.
	Check
	// Absent is refused if the node exists. ZooKeeper has no such operation: its adapter sends
	// a create and a delete.
	Absent
)

// AnyVersion matches every version.
const AnyVersion int32 = -1

// Op is one operation. It does not create missing parents: add a Create for each of them.
type Op struct {
	Kind    OpKind
	Path    string
	Data    []byte
	Version int32
}
