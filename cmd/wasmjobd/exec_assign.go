package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/job"
)

// assignmentReport is what "exec" prints for a strategy as JSON.
type assignmentReport struct {
	Verdict    job.Verdict  `json:"verdict"`
	Error      string       `json:"error,omitempty"`
	Assignment []assignment `json:"assignment"`
	Took       string       `json:"took"`
	TookMS     float64      `json:"took_ms"`
	Log        []logLine    `json:"log"`
}

// assignment is one item with its new owner.
type assignment struct {
	Item     int            `json:"item"`
	Instance job.InstanceID `json:"instance"`
	Moved    bool           `json:"moved"` // another instance had it
}

// shardCall builds the input that a server would pass to a strategy.
func (f *execFlags) shardCall(call job.Call) (job.ShardCall, error) {
	c := job.ShardCall{Config: call.Config, Total: f.total, Log: call.Log}
	c.Config.Kind = "" // no job has the kind strategy
	err := f.members(&c)
	return c, err
}

// assign calls a strategy, and prints its assignment.
func assign(ctx context.Context, term *terminal, wasm []byte, c job.ShardCall, t guest.Options, log *guestLog) error {
	owners, took, err := guest.Assign(ctx, wasm, c, t)
	d := assignmentReport{
		Verdict: job.OK, Assignment: []assignment{}, Took: took.Round(time.Microsecond).String(),
		TookMS: float64(took.Microseconds()) / 1000, Log: log.kept(),
	}
	if fault, ok := errors.AsType[*guest.AssignFault](err); ok {
		d.Verdict, d.Error = job.Failure, fault.Error()
	} else if err != nil {
		return err
	}
	for item, owner := range owners {
		moved := c.Previous[item] >= 0 && c.Previous[item] != owner
		d.Assignment = append(d.Assignment, assignment{item, c.Instances[owner].ID, moved})
	}
	if term.json() {
		err = errors.Join(term.printJSON(d), ctx.Err())
	} else {
		printAssignment(term, c, d)
		err = ctx.Err()
	}
	if err == nil && d.Verdict != job.OK {
		err = exitf(exitRunFailed, "the strategy failed: %s", strings.TrimPrefix(d.Error, "the strategy failed: "))
	}
	return err
}

// members sets the instances, from --instance, and the present owners of the items, from --previous.
func (f *execFlags) members(c *job.ShardCall) error {
	texts := f.instances
	if len(texts) == 0 {
		texts = []string{"10.0.0.3", "10.0.0.2", "10.0.0.1"}
	}
	for _, text := range texts {
		id, labels, _ := strings.Cut(text, ",")
		in := job.ShardInstance{ID: instanceID(id), Labels: map[string]string{}}
		if err := in.ID.Validate(); err != nil {
			return usage("--instance %s: %w", text, err)
		}
		for label := range strings.SplitSeq(labels, ",") {
			key, value, ok := strings.Cut(label, "=")
			if label != "" && (!ok || key == "") {
				return usage("--instance %s: write id,label=value", text)
			}
			if ok {
				in.Labels[key] = value
			}
		}
		if slices.ContainsFunc(c.Instances, func(o job.ShardInstance) bool { return o.ID == in.ID }) {
			return usage("--instance %s: it is listed twice", text)
		}
		c.Instances = append(c.Instances, in)
	}
	// The registry's order, in which strategies get them.
	slices.SortFunc(c.Instances, func(a, b job.ShardInstance) int { return strings.Compare(string(b.ID), string(a.ID)) })
	c.Previous = slices.Repeat([]int{-1}, c.Total) // indexes of instances; -1: no owner
	if len(f.previous) > c.Total {
		return usage("--previous has %d owners, --total is %d", len(f.previous), c.Total)
	}
	for item, id := range f.previous {
		// The index of an instance that is not listed is -1, so its items have no owner; so have those of "-".
		c.Previous[item] = slices.IndexFunc(c.Instances, func(o job.ShardInstance) bool { return o.ID == instanceID(id) })
	}
	return nil
}

// instanceID returns the id that a text is or, for an address, a made-up id of an instance there.
func instanceID(text string) job.InstanceID {
	if strings.Contains(text, job.Delimiter) {
		return job.InstanceID(text)
	}
	return job.NewInstanceID(text, "1")
}

// printAssignment prints the items of each instance; a star marks an item that another instance had.
func printAssignment(term *terminal, c job.ShardCall, d assignmentReport) {
	term.printf("verdict     %s\n", d.Verdict)
	if d.Verdict == job.OK {
		for _, in := range c.Instances {
			var items []string
			for _, a := range d.Assignment {
				switch {
				case a.Instance != in.ID:
				case a.Moved:
					items = append(items, strconv.Itoa(a.Item)+"*")
				default:
					items = append(items, strconv.Itoa(a.Item))
				}
			}
			if items == nil {
				items = []string{"nothing"}
			}
			term.printf("%s", strings.TrimRight(fmt.Sprintf("%-11s %s", in.ID, strings.Join(items, " ")), " ")+"\n")
		}
		if slices.ContainsFunc(d.Assignment, func(a assignment) bool { return a.Moved }) {
			term.printf("(* another instance had it)\n")
		}
	}
	term.printf("took        %s\n", d.Took)
}
