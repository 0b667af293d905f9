package servertree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/registry"
)

// MaxServers bounds how many servers of a job are read.
const MaxServers = 1000

// maxNamed is how many items of a member its text names.
const maxNamed = 20

// Job is what a tree shows of the members of a job.
type Job struct {
	Leader  string // address of the leader; "": there is none
	Servers []Member
	// Fault is the first fault, with its path: a value that members of ElasticJob do not
	// write, a server whose name is not an address, or too many servers. nil: there is none.
	Fault error
}

// Member is a server that is a member of a job, or was.
type Member struct {
	IP     string
	Status string // "": no session of it is there
	Items  []int

	Disabled, Paused, Shutdown bool
}

// String describes the member in a few words.
func (m Member) String() string {
	words := []string{m.IP, m.Status}
	if m.Status == "" {
		words[1] = "gone"
	}
	for _, flag := range []struct {
		is   bool
		word string
	}{{m.Disabled, "disabled"}, {m.Paused, "paused"}, {m.Shutdown, "shut down"}} {
		if flag.is {
			words = append(words, flag.word)
		}
	}
	switch n := len(m.Items); {
	case n > maxNamed:
		words = append(words, fmt.Sprintf("%d items", n))
	case n > 0:
		words = append(words, "items "+FormatItems(m.Items))
	}
	return strings.Join(words, ", ")
}

// Read reads the members of the job whose own node is at root.
func Read(root string, read func(path string) (registry.Node, error)) (Job, error) {
	r := &reader{root: root, read: read}
	servers := r.node(Servers)
	j := Job{Leader: r.value(Host, "")}
	if n := len(servers.Children); n > MaxServers {
		r.fault(Servers, fmt.Errorf("%d servers, more than %d", n, MaxServers))
		servers.Children = nil
	}
	for _, ip := range slices.Sorted(slices.Values(servers.Children)) {
		if _, err := ParseAddress(ip); err != nil {
			r.fault(Servers, err)
			continue
		}
		j.Servers = append(j.Servers, r.member(ip))
	}
	j.Fault = r.faulty
	return j, r.err
}

// reader reads nodes below root. After the first error of read it reads none.
type reader struct {
	root   string
	read   func(path string) (registry.Node, error)
	err    error
	faulty error // becomes Job.Fault
}

// node reads a node by its path below root. After an error it returns one that does not
// exist.
func (r *reader) node(path string) (n registry.Node) {
	if r.err == nil {
		n, r.err = r.read(r.root + "/" + path)
	}
	return n
}

// fault records the first fault.
func (r *reader) fault(path string, err error) {
	if r.faulty == nil && err != nil {
		r.faulty = fmt.Errorf("%s/%s: %w", r.root, path, err)
	}
}

// value returns the value of a node, whose name may have a placeholder for the server's
// address. The value of a missing node is "". A value that ElasticJob does not write also
// becomes "", and value records a fault.
func (r *reader) value(name, ip string) string {
	path := strings.Replace(name, placeServer, ip, 1)
	n := r.node(path)
	if !n.Exists {
		return ""
	}
	row, _, _ := NodeOf(path)
	if err := row.Check(string(n.Data)); err != nil {
		r.fault(path, err)
		return ""
	}
	return string(n.Data)
}

// member reads the nodes of the server with an address.
func (r *reader) member(ip string) Member {
	n := r.node(strings.Replace(Server, placeServer, ip, 1))
	has := func(name string) bool { return slices.Contains(n.Children, name[strings.LastIndexByte(name, '/')+1:]) }
	m := Member{IP: ip, Disabled: has(Disabled), Paused: has(Paused) || has(Stopped), Shutdown: has(Shutdown)}
	if has(Status) {
		m.Status = r.value(Status, ip)
	}
	if has(Sharding) {
		m.Items, _ = ParseItems(r.value(Sharding, ip)) // value has checked it
	}
	return m
}
