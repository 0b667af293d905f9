package discovery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/reason"
)

// line is an input and its expected effects.
type line struct {
	in   Input
	want []Effect
}

func no(in Input) line { return line{in: in} }

func then(in Input, want ...Effect) line { return line{in, want} }

// found are the inputs of a job that was found and read, and that runs.
var found = []line{
	then(ListChanged{}, List{}),
	then(Listed{[]string{"j"}}, Look{Name: "j"}, FirstListed{}),
	then(Looked{Name: "j", Config: true, Module: true, Created: 7}, Try{"j"}),
	then(Fits{"j"}, Start{"j"}),
}

// seen returns the result of Look for a complete definition.
func seen(created int64) Looked {
	return Looked{Name: "j", Config: true, Module: true, Created: created}
}

func TestStep(t *testing.T) {
	t.Parallel()
	const config, module = true, true
	blockers := []reason.Reason{reason.Of(reason.RandomAboveLimit)}
	for _, c := range []struct {
		name  string
		own   []string
		story []line
	}{
		{"a job that is found runs", nil, found},
		{"the server's own job is no candidate", []string{"j"}, []line{then(ListChanged{}, List{}), then(Listed{[]string{"j"}}, FirstListed{})}},
		{"the list changes while it is read", nil, []line{
			then(ListChanged{}, List{}), no(ListChanged{}), no(ListChanged{}),
			then(Listed{nil}, FirstListed{}, List{}), no(Listed{nil}),
		}},
		{"the list cannot be read", nil, []line{
			then(ListChanged{}, List{}), then(ListFailed{}, RetryList{time.Second}),
			then(ListChanged{}, List{}), then(ListFailed{}, RetryList{2 * time.Second}),
			then(ListChanged{}, List{}), then(Listed{nil}, FirstListed{}),
			then(ListChanged{}, List{}), then(ListFailed{}, RetryList{time.Second}),
		}},
		{"nobody has said yet what it is", nil, []line{
			then(ListChanged{}, List{}), then(Listed{[]string{"j"}}, Look{Name: "j"}, FirstListed{}),
			then(Looked{Name: "j", Config: config}, Hide{Name: "j"}), then(Hidden{"j"}, Settled{"j"}),
			then(Touched{Name: "j"}, Look{Name: "j"}), then(Looked{Name: "j", Module: module}, Hide{Name: "j"}), no(Hidden{"j"}),
			then(Touched{Name: "j"}, Look{Name: "j"}), then(Looked{Name: "j"}, Hide{Name: "j"}), no(Hidden{"j"}),
			then(Touched{Name: "j"}, Look{Name: "j"}), then(seen(1), Try{"j"}),
		}},
		{"it is refused until it is changed", nil, []line{
			then(ListChanged{}, List{}), then(Listed{[]string{"j"}}, Look{Name: "j"}, FirstListed{}),
			then(seen(1), Try{"j"}), then(Refused{Name: "j"}, Settled{"j"}),
			no(Touched{Name: "j", Members: true}), // it does not wait for its module
			then(Touched{Name: "j"}, Look{Name: "j"}), then(seen(1), Try{"j"}), then(Fits{"j"}, Start{"j"}),
		}},
		{"it is refused until a member has its module", nil, []line{
			then(ListChanged{}, List{}), then(Listed{[]string{"j"}}, Look{Name: "j"}, FirstListed{}),
			then(seen(1), Try{"j"}), then(Refused{"j", true}, Settled{"j"}, Retry{"j", time.Second}),
			then(Touched{Name: "j", Members: true}, Look{Name: "j"}), then(seen(1), Try{"j"}), then(Refused{"j", true}, Retry{"j", 2 * time.Second}),
			then(Touched{Name: "j", Members: true}, Look{Name: "j"}), then(seen(1), Try{"j"}),
			no(Touched{Name: "j", Members: true}), then(Refused{"j", true}, Retry{"j", 4 * time.Second}, Look{Name: "j"}),
			then(seen(1), Try{"j"}), then(Fits{"j"}, Start{"j"}), then(Refused{"j", true}, Retry{"j", time.Second}),
		}},
		{"it changes while it is looked at, and while it is tried", nil, []line{
			then(ListChanged{}, List{}), then(Listed{[]string{"j"}}, Look{Name: "j"}, FirstListed{}),
			no(Touched{Name: "j"}), then(seen(1), Try{"j"}), then(Refused{Name: "j"}, Settled{"j"}, Look{Name: "j"}),
			no(Touched{Name: "j"}), then(Refused{Name: "j"}, Look{Name: "j"}),
		}},
		{"what changes while it runs is for its runner", nil, append(found[:4:4], no(Touched{Name: "j"}), no(Touched{Name: "j", Members: true}))},
		{"it is changed while it runs", nil, append(found[:4:4],
			no(Changed{Name: "j", Same: true}), then(Changed{Name: "j"}, Prefetch{"j"}), no(Changed{Name: "j", Same: true}),
		)},
		{"it is changed so that this server may not run it", nil, append(found[:4:4],
			then(Changed{Name: "j", Blockers: blockers}, Withdraw{Name: "j", Blockers: blockers}),
			then(Ended{"j", true}, Settled{"j"}, Look{Name: "j"}), then(seen(7), Try{"j"}), no(Refused{Name: "j"}),
			no(Changed{Name: "j"}), // from a runner that has ended
		)},
		{"the session ends in which it was read", nil, []line{
			then(ListChanged{}, List{}), then(Listed{[]string{"j"}}, Look{Name: "j"}, FirstListed{}), then(seen(1), Try{"j"}), no(SessionEnded{"j"}),
			then(Refused{Name: "j"}, Settled{"j"}, Look{"j", true}), then(Refused{"j", true}, Retry{"j", time.Second}), then(Touched{Name: "j"}, Look{Name: "j"}),
		}},
		{"it is removed while it runs, and the list says so before", nil, append(found[:4:4],
			then(ListChanged{}, List{}), no(Listed{nil}),
			then(Ended{"j", true}, Settled{"j"}, Look{Name: "j"}), then(Looked{Name: "j"}, Hide{"j", true}), then(Hidden{"j"}, Gone{"j"}, List{}), no(Listed{nil}),
		)},
		{"it is removed while it runs, and the list says so later", nil, append(found[:4:4],
			then(Changed{Name: "j", Removed: true}, Withdraw{Name: "j", Removed: true}),
			then(Ended{"j", true}, Settled{"j"}, Look{Name: "j"}), then(Looked{Name: "j"}, Hide{Name: "j"}), no(Hidden{"j"}),
			then(ListChanged{}, List{}), then(Listed{nil}, Look{Name: "j"}), then(Looked{Name: "j"}, Hide{"j", true}), then(Hidden{"j"}, Gone{"j"}, List{}),
		)},
		{"it is made anew while it is forgotten", nil, append(found[:4:4],
			then(ListChanged{}, List{}), no(Listed{nil}),
			then(Ended{"j", true}, Settled{"j"}, Look{Name: "j"}), then(Looked{Name: "j"}, Hide{"j", true}),
			then(ListChanged{}, List{}), no(Listed{[]string{"j"}}), no(Touched{Name: "j"}),
			then(Hidden{"j"}, Gone{"j"}, List{}), then(Listed{[]string{"j"}}, Look{Name: "j"}),
		)},
		{"an operator shuts it down", nil, append(found[:4:4],
			then(Ended{Name: "j"}, Settled{"j"}, Look{Name: "j"}), then(seen(7), KeepShut{"j"}), no(Refused{Name: "j"}),
			then(Touched{Name: "j"}, Look{Name: "j"}), then(seen(7), KeepShut{"j"}), no(Refused{Name: "j"}),
			then(Touched{Name: "j"}, Look{Name: "j"}), then(seen(8), Try{"j"}), // it is another job
		)},
		{"it is shut down and removed, but for another node", nil, append(found[:4:4],
			then(Ended{Name: "j"}, Settled{"j"}, Look{Name: "j"}), then(seen(7), KeepShut{"j"}), no(Refused{Name: "j"}),
			then(Touched{Name: "j"}, Look{Name: "j"}), then(Looked{Name: "j"}, Hide{Name: "j"}), no(Hidden{"j"}),
			then(Touched{Name: "j"}, Look{Name: "j"}), then(seen(7), Try{"j"}),
		)},
		{"it is shut down, and its configuration alone goes", nil, append(found[:4:4],
			then(Ended{Name: "j"}, Settled{"j"}, Look{Name: "j"}), then(seen(7), KeepShut{"j"}), no(Refused{Name: "j"}),
			then(Touched{Name: "j"}, Look{Name: "j"}), then(Looked{Name: "j", Module: module}, Hide{Name: "j"}), no(Hidden{"j"}),
			then(Touched{Name: "j"}, Look{Name: "j"}), then(seen(7), KeepShut{"j"}),
		)},
		{"the file gets a job that runs", nil, append(found[:4:4],
			then(FileHas{"j"}, Withdraw{Name: "j"}), then(Ended{"j", true}, Settled{"j"}, Hide{"j", true}), then(Hidden{"j"}, Gone{"j"}, List{}),
			no(Listed{[]string{"j"}}), then(FileLost{"j"}, List{}), then(Listed{[]string{"j"}}, Look{Name: "j"}),
		)},
		{"the file gets a job that waits", nil, []line{
			then(ListChanged{}, List{}), then(Listed{[]string{"j"}}, Look{Name: "j"}, FirstListed{}), then(seen(1), Try{"j"}), then(Refused{Name: "j"}, Settled{"j"}),
			then(FileHas{"j"}, Hide{"j", true}), then(Hidden{"j"}, Gone{"j"}, List{}),
		}},
		{"the file gets a job that is looked at", nil, []line{
			then(ListChanged{}, List{}), then(Listed{[]string{"j"}}, Look{Name: "j"}, FirstListed{}),
			no(FileHas{"j"}), then(seen(1), Hide{"j", true}), then(Hidden{"j"}, Settled{"j"}, Gone{"j"}, List{}),
		}},
		{"the file gets a job that is tried", nil, []line{
			then(ListChanged{}, List{}), then(Listed{[]string{"j"}}, Look{Name: "j"}, FirstListed{}), then(seen(1), Try{"j"}),
			no(FileHas{"j"}), then(Fits{"j"}, Hide{"j", true}), then(Hidden{"j"}, Settled{"j"}, Gone{"j"}, List{}),
		}},
		{"the file gets a job that nobody has found", nil, []line{
			no(FileHas{"j"}), then(ListChanged{}, List{}), then(Listed{[]string{"j"}}, FirstListed{}),
		}},
		{"the server stops", nil, []line{
			then(ListChanged{}, List{}), then(Listed{[]string{"j", "k", "l"}}, Look{Name: "j"}, Look{Name: "k"}, Look{Name: "l"}, FirstListed{}),
			then(Looked{Name: "k", Config: config, Module: module}, Try{"k"}), then(Looked{Name: "l", Config: config, Module: module}, Try{"l"}), then(Fits{"l"}, Start{"l"}),
			then(ListChanged{}, List{}), no(Stop{}), no(ListFailed{}), no(ListChanged{}),
			no(seen(1)), no(Touched{Name: "j"}), no(Fits{"k"}), no(Changed{Name: "l"}), no(Ended{"l", true}),
		}},
		{"nobody knows the job", nil, []line{no(Touched{Name: "j"}), no(seen(1)), no(Fits{"j"})}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := New(c.own...)
			for i, l := range c.story {
				if d := cmp.Diff(l.want, s.Step(l.in)); d != "" {
					t.Fatalf("line %d, %T%+v: %s", i+1, l.in, l.in, d)
				}
			}
		})
	}
}
