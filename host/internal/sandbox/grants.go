package sandbox

import (
	"context"
	crand "crypto/rand"
	"math"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/abi"
)

// grantCalls are the functions that reach beyond the run, most of them with a
// grant only; see hostFunction.call for who asks for it.
func grantCalls() map[string]body {
	return map[string]body{
		abi.FuncMetricAdd: metricAdd, abi.FuncSleep: sleepMS,
		abi.FuncNow: now, abi.FuncRandom: random,
		abi.FuncStateGet: stateGet, abi.FuncStateSet: stateSet, abi.FuncStateDelete: stateDelete,
		abi.FuncSecretGet:   secretGet,
		abi.FuncHTTPRequest: httpRequest, abi.FuncHTTPStatus: httpStatus, abi.FuncHTTPHeader: httpHeader,
		abi.FuncHTTPRead: httpRead, abi.FuncHTTPClose: httpClose,
	}
}

// clock is the granted one.
func (r *run) clock() time.Time {
	if f := r.facts.call.Now; f != nil {
		return f()
	}
	return time.Now()
}

func now(_ context.Context, r *run, _ api.Memory, s []uint64) {
	s[0] = api.EncodeI64(r.clock().UnixMilli())
}

func random(_ context.Context, _ *run, mem api.Memory, s []uint64) {
	buf := guestBytes(mem, u32(s[0]), u32(s[1]))
	if len(buf) > maxRandom {
		setResult(s, abi.ErrLimit)
		return
	}
	_, _ = crand.Read(buf) // it never fails
	setResult(s, 0)
}

func secretGet(_ context.Context, r *run, mem api.Memory, s []uint64) {
	name := guestBytes(mem, u32(s[0]), u32(s[1]))
	guestBytes(mem, u32(s[2]), u32(s[3]))
	secret, ok := r.secret(name)
	if !ok {
		setResult(s, abi.ErrDenied)
		return
	}
	setResult(s, writeValue(mem, secret, u32(s[2]), u32(s[3])))
}

func metricAdd(_ context.Context, r *run, mem api.Memory, s []uint64) {
	name, v := guestBytes(mem, u32(s[0]), u32(s[1])), api.DecodeF64(s[2])
	if !metricName(name) || math.IsNaN(v) || math.IsInf(v, 0) {
		setResult(s, abi.ErrInvalid)
		return
	}
	setResult(s, r.state.addMetric(r.log.secrets.hideAll(string(name)), v))
}

func metricName(name []byte) bool {
	if len(name) == 0 || len(name) > maxMetricName {
		return false
	}
	for _, c := range name {
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && !strings.ContainsRune("_.-", rune(c)) {
			return false
		}
	}
	return true
}

// addMetric sums up under a name. A sum stays finite, as values are.
func (o *hostState) addMetric(name string, v float64) int32 {
	sum := o.sums[name] + v
	if math.IsInf(sum, 0) {
		return abi.ErrInvalid
	}
	if _, known := o.sums[name]; !known && o.countMetrics(name) >= maxMetrics {
		return abi.ErrLimit
	}
	if o.sums == nil {
		o.sums = map[string]float64{}
	}
	o.sums[name] = sum
	return 0
}

// countMetrics counts the names of sums, those of what o was forked from among them,
// without the given one.
func (o *hostState) countMetrics(without string) int {
	seen := map[string]bool{without: true}
	for layer := o; layer != nil; layer = layer.parent {
		for name := range layer.sums {
			seen[name] = true
		}
	}
	return len(seen) - 1
}
