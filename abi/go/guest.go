//go:build wasip1

package wasmjob

import (
	"unsafe"

	// Imported for its effect on TinyGo.
	_ "github.com/wasmjob/wasmjob/abi/go/internal/panics"
)

// marker is never called: its export shows which version of the contract the module uses.
//
//go:wasmexport wasmjob_abi_v1
func marker() {}

// current returns the host that runs this module.
func current() host { return guest{} }

// guest is the host as a module sees it. Buffers do not move during a call, and the host
// keeps no pointer after it.
type guest struct{}

// at returns where a buffer is in the module's memory, and its length, as host functions
// take it.
func at(b []byte) (unsafe.Pointer, int32) {
	return unsafe.Pointer(unsafe.SliceData(b)), int32(len(b))
}

// atText is at for a text.
func atText(s string) (unsafe.Pointer, int32) {
	return unsafe.Pointer(unsafe.StringData(s)), int32(len(s))
}

func (guest) ctxStr(field int32, buf []byte) int32 {
	p, n := at(buf)
	return importCtxStr(field, p, n)
}

func (guest) ctxInt(field int32) int64 { return importCtxInt(field) }

func (guest) ctxJSON(buf []byte) int32 {
	p, n := at(buf)
	return importCtxJSON(p, n)
}

func (guest) configGet(key string, buf []byte) int32 {
	k, kn := atText(key)
	p, n := at(buf)
	return importConfigGet(k, kn, p, n)
}

func (guest) log(level int32, msg string) {
	p, n := atText(msg)
	importLog(level, p, n)
}

func (guest) logLevel() int32 { return importLogLevel() }

func (guest) resultSet(b []byte) int32 {
	p, n := at(b)
	return importResultSet(p, n)
}

func (guest) errorSet(msg string) int32 {
	p, n := atText(msg)
	return importErrorSet(p, n)
}

func (guest) cancelled() int32 { return importCancelled() }

func (guest) progress(done, total int64) { importProgress(done, total) }

func (guest) metricAdd(name string, value float64) int32 {
	p, n := atText(name)
	return importMetricAdd(p, n, value)
}

func (guest) sleep(ms int32) int32 { return importSleep(ms) }

func (guest) now() int64 { return importNow() }

func (guest) random(buf []byte) int32 {
	p, n := at(buf)
	return importRandom(p, n)
}

func (guest) batchAdd(element []byte) int32 {
	p, n := at(element)
	return importBatchAdd(p, n)
}

func (guest) batchCount() int32 { return importBatchCount() }

func (guest) batchRead(index int32, buf []byte) int32 {
	p, n := at(buf)
	return importBatchRead(index, p, n)
}

func (guest) batchAck(index, outcome int32) int32 { return importBatchAck(index, outcome) }

func (guest) stateGet(key string, buf []byte) int32 {
	k, kn := atText(key)
	p, n := at(buf)
	return importStateGet(k, kn, p, n)
}

func (guest) stateSet(key string, value []byte) int32 {
	k, kn := atText(key)
	p, n := at(value)
	return importStateSet(k, kn, p, n)
}

func (guest) stateDelete(key string) int32 {
	k, kn := atText(key)
	return importStateDelete(k, kn)
}

func (guest) secretGet(name string, buf []byte) int32 {
	k, kn := atText(name)
	p, n := at(buf)
	return importSecretGet(k, kn, p, n)
}

func (guest) httpRequest(request []byte) int32 {
	p, n := at(request)
	return importHTTPRequest(p, n)
}

func (guest) httpStatus(handle int32) int32 { return importHTTPStatus(handle) }

func (guest) httpHeader(handle int32, name string, buf []byte) int32 {
	k, kn := atText(name)
	p, n := at(buf)
	return importHTTPHeader(handle, k, kn, p, n)
}

func (guest) httpRead(handle int32, buf []byte) int32 {
	p, n := at(buf)
	return importHTTPRead(handle, p, n)
}

func (guest) httpClose(handle int32) int32 { return importHTTPClose(handle) }

func (guest) shardInstanceCount() int32 { return importShardInstanceCount() }

func (guest) shardInstanceID(instance int32, buf []byte) int32 {
	p, n := at(buf)
	return importShardInstanceID(instance, p, n)
}

func (guest) shardInstanceLabel(instance int32, key string, buf []byte) int32 {
	k, kn := atText(key)
	p, n := at(buf)
	return importShardInstanceLabel(instance, k, kn, p, n)
}

func (guest) shardPrev(item int32) int32 { return importShardPrev(item) }

func (guest) shardAssign(item, instance int32) int32 { return importShardAssign(item, instance) }
