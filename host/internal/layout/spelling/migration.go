package spelling

import (
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Migration is the value of wasm/migration: the layouts from and to which the job was
// moved, and the former values of the nodes that were rewritten, by their paths below the
// job's own. If servers of ours had run the job, Added lists the nodes below wasm that the
// migration created.
type Migration struct {
	From, To string
	Nodes    map[string]string
	Ours     bool // servers of ours had run the job, in layout 1 or 2.0
	Added    []string
}

type migrationJSON struct {
	V     int               `json:"v"`
	From  string            `json:"from"`
	To    string            `json:"to"`
	Nodes map[string]string `json:"nodes"`
	Ours  bool              `json:"ours,omitempty"`
	Added []string          `json:"added,omitempty"`
}

// maxMigration is the largest value that is read, in bytes, as a node of ZooKeeper holds no
// more.
const maxMigration = 1 << 20

// EncodeMigration returns the value of wasm/migration.
func EncodeMigration(m Migration) []byte {
	return jsonvalue.Encode(migrationJSON{Version, m.From, m.To, m.Nodes, m.Ours, m.Added})
}

// DecodeMigration reads what EncodeMigration wrote. A missing node is no migration.
func DecodeMigration(n registry.Node) (*Migration, error) {
	if !n.Exists {
		return nil, nil
	}
	if len(n.Data) > maxMigration {
		return nil, fmt.Errorf("%d bytes are more than %d", len(n.Data), maxMigration)
	}
	var v migrationJSON
	if err := jsonvalue.Decode(n.Data, &v); err != nil {
		return nil, err
	}
	if v.V != Version {
		return nil, fmt.Errorf("version %d is not known to this release", v.V)
	}
	return &Migration{v.From, v.To, v.Nodes, v.Ours, v.Added}, nil
}
