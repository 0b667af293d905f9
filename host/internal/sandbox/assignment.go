package sandbox

import (
	"context"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// assignment is the result of a strategy in progress: which instance owns which
// item.
type assignment struct {
	call          *job.ShardCall
	owners        []int // by item: index of an instance, or unassigned
	assignedTwice []int // items that were assigned more than once
}

const unassigned = -1

func newAssignment(c *job.ShardCall) *assignment {
	return &assignment{call: c, owners: slices.Repeat([]int{unassigned}, c.Total)}
}

// missing returns the items that are unassigned.
func (d *assignment) missing() []int {
	var items []int
	for i, owner := range d.owners {
		if owner == unassigned {
			items = append(items, i)
		}
	}
	return items
}

// instance returns the instance that the guest names by its index v, if there is one.
func (d *assignment) instance(v uint64) (*job.ShardInstance, bool) {
	if i := u32(v); uint64(i) < uint64(len(d.call.Instances)) {
		return &d.call.Instances[i], true
	}
	return nil, false
}

// shardCalls returns the host functions of strategies.
func shardCalls() map[string]body {
	return map[string]body{
		abi.FuncShardInstanceCount: shardInstanceCount, abi.FuncShardInstanceID: shardInstanceID,
		abi.FuncShardInstanceLabel: shardInstanceLabel,
		abi.FuncShardPrev:          shardPrev, abi.FuncShardAssign: shardAssign,
	}
}

// shardInstanceCount implements the guest's shard_instance_count().
func shardInstanceCount(_ context.Context, r *run, _ api.Memory, s []uint64) int32 {
	return int32(len(r.assignment.call.Instances))
}

// shardInstanceID implements the guest's shard_instance_id(instance, buf, cap): it writes
// the id of an instance, which the guest names by its index.
func shardInstanceID(_ context.Context, r *run, mem api.Memory, s []uint64) int32 {
	in, ok := r.assignment.instance(s[0])
	if !ok {
		checkBuffer(mem, u32(s[1]), u32(s[2]))
		return abi.ErrInvalid
	}
	return writeValue(mem, string(in.ID), u32(s[1]), u32(s[2]))
}

// shardInstanceLabel implements the guest's shard_instance_label(instance, key, klen, buf,
// cap): it writes a label of the instance's server. writeValue also checks the buffer if
// there is no such label.
func shardInstanceLabel(_ context.Context, r *run, mem api.Memory, s []uint64) int32 {
	key := guestBytes(mem, u32(s[1]), u32(s[2]))
	in, ok := r.assignment.instance(s[0])
	if !ok {
		checkBuffer(mem, u32(s[3]), u32(s[4]))
		return abi.ErrInvalid
	}
	label, ok := in.Labels[string(key)]
	n := writeValue(mem, label, u32(s[3]), u32(s[4]))
	if !ok {
		n = abi.ErrNotFound
	}
	return n
}

// shardPrev implements the guest's shard_prev(item): it returns the index of the instance
// that owned the item before. A negative Previous means that the owner is none of the
// instances.
func shardPrev(_ context.Context, r *run, _ api.Memory, s []uint64) int32 {
	item := u32(s[0])
	switch d := r.assignment; {
	case uint64(item) >= uint64(len(d.owners)):
		return abi.ErrInvalid
	case uint64(item) >= uint64(len(d.call.Previous)) || d.call.Previous[item] < 0:
		return abi.ErrNotFound
	default:
		return int32(d.call.Previous[item])
	}
}

// shardAssign implements the guest's shard_assign(item, instance). The first assignment of
// an item counts. A second one is an error of the strategy, which assignOnce reports.
func shardAssign(_ context.Context, r *run, _ api.Memory, s []uint64) int32 {
	d, item := r.assignment, u32(s[0])
	_, ok := d.instance(s[1])
	switch {
	case !ok || uint64(item) >= uint64(len(d.owners)):
		return abi.ErrInvalid
	case d.owners[item] != unassigned:
		// The number is limited because a guest could repeat the call forever.
		if len(d.assignedTwice) < maxNamed {
			d.assignedTwice = append(d.assignedTwice, int(item))
		}
		return abi.ErrConflict
	default:
		d.owners[item] = int(u32(s[1]))
		return 0
	}
}
