package sandbox

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/abi"
)

// grantCalls returns the functions with effects outside the run. Most need a grant,
// which hostFunction.call checks.
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

// clock returns the time of the granted clock: the call's own if it has one, or the real
// time.
func (r *run) clock() time.Time {
	if f := r.facts.call.Now; f != nil {
		return f()
	}
	return time.Now()
}

// now implements the guest's now_unix_ms(). Its result is an i64, which it writes to the
// stack itself.
func now(_ context.Context, r *run, _ api.Memory, s []uint64) int32 {
	s[0] = api.EncodeI64(r.clock().UnixMilli())
	return 0
}

// random implements the guest's random(buf, len): it fills the buffer with real random
// bytes.
func random(_ context.Context, r *run, mem api.Memory, s []uint64) int32 {
	buf := guestBytes(mem, u32(s[0]), u32(s[1]))
	if len(buf) > maxRandom {
		return r.exceeds("a call returns at most %d bytes", maxRandom)
	}
	_, _ = crand.Read(buf) // never fails
	return 0
}

// secretGet implements the guest's secret_get(name, nlen, buf, cap): it writes a granted
// secret. The buffer is checked before the grant, so that a wrong pointer never works by
// accident.
func secretGet(_ context.Context, r *run, mem api.Memory, s []uint64) int32 {
	name := guestBytes(mem, u32(s[0]), u32(s[1]))
	checkBuffer(mem, u32(s[2]), u32(s[3]))
	secret, ok := r.secret(name)
	if !ok {
		if len(name) <= maxShownName { // a part of a longer one could be a part of a secret
			r.cause.err = fmt.Sprintf("secret %s is not granted", name)
		}
		return abi.ErrDenied
	}
	return writeValue(mem, secret, u32(s[2]), u32(s[3]))
}

// metricAdd implements the guest's metric_add(name, nlen, value): it adds a value to a sum
// that is recorded with the run.
func metricAdd(_ context.Context, r *run, mem api.Memory, s []uint64) int32 {
	name, v := guestBytes(mem, u32(s[0]), u32(s[1])), api.DecodeF64(s[2])
	if !metricName(name) || math.IsNaN(v) || math.IsInf(v, 0) {
		r.cause = refusalCause{text: "a name is 1 to %d of A-Z a-z 0-9 _ . - and a value is finite", limit: maxMetricName}
		return abi.ErrInvalid
	}
	code := r.hostState.addMetric(r.log.secrets.hideAll(string(name)), v) // the history shows names
	if code == abi.ErrLimit {
		r.exceeds("a run has at most %d metrics", maxMetrics)
	}
	return code
}

// metricName reports whether a metric may have this name.
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

// addMetric adds v to the sum of a metric. Sums stay finite.
func (h *hostState) addMetric(name string, v float64) int32 {
	sum := h.sums[name] + v
	if math.IsInf(sum, 0) {
		return abi.ErrInvalid
	}
	if _, known := h.sums[name]; !known && h.countMetrics(name) >= maxMetrics {
		return abi.ErrLimit
	}
	if h.sums == nil {
		h.sums = map[string]float64{}
	}
	h.sums[name] = sum
	return 0
}

// countMetrics counts the names of metrics, including those of parent states, except the
// one that is about to be added.
func (h *hostState) countMetrics(without string) int {
	seen := map[string]bool{without: true}
	for layer := h; layer != nil; layer = layer.parent {
		for name := range layer.sums {
			seen[name] = true
		}
	}
	return len(seen) - 1
}
