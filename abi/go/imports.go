//go:build wasip1

package wasmjob

import "unsafe"

//go:wasmimport wasmjob_v1 ctx_str
func importCtxStr(field int32, buf unsafe.Pointer, room int32) int32

//go:wasmimport wasmjob_v1 ctx_int
func importCtxInt(field int32) int64

//go:wasmimport wasmjob_v1 ctx_json
func importCtxJSON(buf unsafe.Pointer, room int32) int32

//go:wasmimport wasmjob_v1 config_get
func importConfigGet(key unsafe.Pointer, keyLen int32, buf unsafe.Pointer, room int32) int32

//go:wasmimport wasmjob_v1 log
func importLog(level int32, msg unsafe.Pointer, n int32)

//go:wasmimport wasmjob_v1 log_level
func importLogLevel() int32

//go:wasmimport wasmjob_v1 result_set
func importResultSet(p unsafe.Pointer, n int32) int32

//go:wasmimport wasmjob_v1 error_set
func importErrorSet(p unsafe.Pointer, n int32) int32

//go:wasmimport wasmjob_v1 cancelled
func importCancelled() int32

//go:wasmimport wasmjob_v1 progress
func importProgress(done, total int64)
