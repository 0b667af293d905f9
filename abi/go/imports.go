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

//go:wasmimport wasmjob_v1 metric_add
func importMetricAdd(name unsafe.Pointer, nameLen int32, value float64) int32

//go:wasmimport wasmjob_v1 sleep_ms
func importSleep(ms int32) int32

//go:wasmimport wasmjob_v1 now_unix_ms
func importNow() int64

//go:wasmimport wasmjob_v1 random
func importRandom(buf unsafe.Pointer, n int32) int32

//go:wasmimport wasmjob_v1 batch_add
func importBatchAdd(p unsafe.Pointer, n int32) int32

//go:wasmimport wasmjob_v1 batch_count
func importBatchCount() int32

//go:wasmimport wasmjob_v1 batch_read
func importBatchRead(index int32, buf unsafe.Pointer, room int32) int32

//go:wasmimport wasmjob_v1 batch_ack
func importBatchAck(index, outcome int32) int32

//go:wasmimport wasmjob_v1 state_get
func importStateGet(key unsafe.Pointer, keyLen int32, buf unsafe.Pointer, room int32) int32

//go:wasmimport wasmjob_v1 state_set
func importStateSet(key unsafe.Pointer, keyLen int32, value unsafe.Pointer, n int32) int32

//go:wasmimport wasmjob_v1 state_delete
func importStateDelete(key unsafe.Pointer, keyLen int32) int32

//go:wasmimport wasmjob_v1 secret_get
func importSecretGet(name unsafe.Pointer, nameLen int32, buf unsafe.Pointer, room int32) int32

//go:wasmimport wasmjob_v1 http_request
func importHTTPRequest(p unsafe.Pointer, n int32) int32

//go:wasmimport wasmjob_v1 http_status
func importHTTPStatus(handle int32) int32

//go:wasmimport wasmjob_v1 http_header
func importHTTPHeader(handle int32, name unsafe.Pointer, nameLen int32, buf unsafe.Pointer, room int32) int32

//go:wasmimport wasmjob_v1 http_read
func importHTTPRead(handle int32, buf unsafe.Pointer, room int32) int32

//go:wasmimport wasmjob_v1 http_close
func importHTTPClose(handle int32) int32

//go:wasmimport wasmjob_v1 shard_instance_count
func importShardInstanceCount() int32

//go:wasmimport wasmjob_v1 shard_instance_id
func importShardInstanceID(instance int32, buf unsafe.Pointer, room int32) int32

//go:wasmimport wasmjob_v1 shard_instance_label
func importShardInstanceLabel(instance int32, key unsafe.Pointer, keyLen int32, buf unsafe.Pointer, room int32) int32

//go:wasmimport wasmjob_v1 shard_prev
func importShardPrev(item int32) int32

//go:wasmimport wasmjob_v1 shard_assign
func importShardAssign(item, instance int32) int32
