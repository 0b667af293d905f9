package operator

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// checkedMembers lists the members of a job, then the nodes of members that are gone.
func checkedMembers(v *protocol.View) []CheckedMember {
	var all []CheckedMember
	for _, in := range v.Instances {
		m := CheckedMember{ID: shown(v, in.ID), Kind: Java, Disabled: v.ServerDisabled(in.ID)}
		if ours(v, in.ID) {
			m.Kind = Ours
		}
		all = append(all, m)
	}
	for _, id := range v.Ghosts {
		all = append(all, CheckedMember{ID: id, Kind: Ghost})
	}
	return all
}

// ours reports whether a member is of wasmjobd. Only such members have a member node.
func ours(v *protocol.View, id job.InstanceID) bool {
	return slices.ContainsFunc(v.Members, func(m protocol.Member) bool { return m.ID == id })
}

// shown is the id of a member in reports. Where addresses name members, a foreign member has no id, and is shown by
// its address.
func shown(v *protocol.View, id job.InstanceID) job.InstanceID {
	if v.ByAddress && !ours(v, id) {
		return job.InstanceID(id.IP())
	}
	return id
}
