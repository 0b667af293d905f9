package clustertree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of drains.
const (
	MaxDrains = 100
	// maxDrains bounds the text of all, below the 1 MiB of a request to ZooKeeper.
	maxDrains       = 512 << 10
	maxDrainAddress = 200
)

// Drains are the servers that are to start nothing, ascending by address.
type Drains struct {
	V   int     `json:"v"`
	All []Drain `json:"drains"`
}

// Drain is an operator's order that a server starts nothing for any job.
type Drain struct {
	Server string `json:"server"`
	By     string `json:"by"`
	Why    string `json:"why,omitempty"`
	Since  int64  `json:"since"`
	// Kept are the jobs for which the server was disabled before the drain, or by an operator
	// during it, and stays so after it.
	Kept []string `json:"kept,omitempty"`
	// Ending: the server is being enabled again. Once that is done for all other jobs, the
	// drain is removed.
	Ending bool `json:"ending,omitempty"`
}

// DecodeDrains reads the value of the node; an empty value has none.
func DecodeDrains(data []byte) (Drains, error) {
	var d Drains
	if err := decodeIfAny(data, maxDrains, &d, &d.V); err != nil {
		return Drains{}, err
	}
	if len(d.All) > MaxDrains {
		return Drains{}, fmt.Errorf("it has %d servers, the limit is %d", len(d.All), MaxDrains)
	}
	for i, one := range d.All {
		if i > 0 && d.All[i-1].Server >= one.Server {
			return Drains{}, errors.New("the servers are not sorted")
		}
		if !one.fits() {
			return Drains{}, fmt.Errorf("server %d in it is not what this release writes", i)
		}
	}
	return d, nil
}

// fits reports whether the drain can be stored as it is.
func (d Drain) fits() bool {
	return d.Server != "" && short(d.Server, maxDrainAddress) == d.Server && short(d.By, maxWho) == d.By && short(d.Why, maxSilence) == d.Why && isMoment(d.Since)
}

// Find returns the drain of a server; nil if there is none.
func (d *Drains) Find(server string) *Drain {
	i, ok := d.search(server)
	if !ok {
		return nil
	}
	return &d.All[i]
}

// search returns the index of a server's drain, or where it belongs.
func (d *Drains) search(server string) (int, bool) {
	return slices.BinarySearchFunc(d.All, server, func(one Drain, server string) int { return strings.Compare(one.Server, server) })
}

// Put adds a drain, which replaces that of the same server. It reports whether there was
// room.
func (d *Drains) Put(one Drain) bool {
	one.By, one.Why = short(one.By, maxWho), short(one.Why, maxSilence)
	if !one.fits() {
		return false
	}
	all := slices.Clone(d.All)
	if i, ok := d.search(one.Server); ok {
		all[i] = one
	} else {
		all = slices.Insert(all, i, one)
	}
	next := Drains{All: all}
	if len(all) > MaxDrains || len(next.Encode()) > maxDrains {
		return false
	}
	d.All = all
	return true
}

// Remove removes the drain of a server.
func (d *Drains) Remove(server string) {
	d.All = slices.DeleteFunc(slices.Clone(d.All), func(one Drain) bool { return one.Server == server })
}

// Encode returns the value of the node.
func (d *Drains) Encode() []byte {
	d.V = version
	if d.All == nil {
		d.All = []Drain{}
	}
	return encode(d)
}
