package conformance

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/abi"
)

// afterwards checks which facts a listener can read about a run that returned code, and
// that the listener's own reason does not replace the run's.
func afterwards(add adder, rule string, code int, outcome int64) {
	reason, length := "it ended", int32(8)
	if code == 0 {
		reason, length = "", abi.ErrNotFound
	}
	facts := binary.LittleEndian.AppendUint64(nil, uint64(outcome))
	facts = append(binary.LittleEndian.AppendUint32(facts, uint32(length)), reason...)
	verdict := map[int]string{0: "ok", 2: "retryable", 3: "skipped", 4: "deadline"}[code]
	r := item(request("after", "simple"), code)
	if code == 4 {
		r.Limits = Limits{Timeout: 50, Grace: 10_000}
	}
	add("after: "+strconv.Itoa(code), rule, r, Want{Verdict: one(cmp.Or(verdict, "failed")), Result: new(string(facts)), Check: func(a Answer) error {
		if !strings.Contains(a.Reason, reason) || strings.Contains(a.Reason, "hear this") {
			return fmt.Errorf("the reason is %q, wanted that of the entry", a.Reason)
		}
		return nil
	}})
}

// fires checks which facts the listener of a whole fire can read.
func fires(add adder, rule string) {
	const unknown = abi.NoInt
	for name, tt := range sorted(map[string]struct {
		event string
		fire  *Fire
		want  [3]int64
	}{
		"known":   {"completed", &Fire{Succeeded: 5, Failed: 1}, [3]int64{5, 1, 0}},
		"unknown": {"completed", nil, [3]int64{unknown, unknown, unknown}},
	}) {
		var facts []byte
		for _, n := range tt.want {
			facts = binary.LittleEndian.AppendUint64(facts, uint64(n))
		}
		r := request("after", "simple")
		r.Event, r.Fire = tt.event, tt.fire
		add("completed: "+name, rule, r, Want{Verdict: one("ok"), Result: new(string(facts))})
	}
}
