// Package abi names everything that a guest module and its host agree on: the import
// module, the exports, the functions with their types, the field ids and the codes of
// version 1 of the ABI.
//
// It holds constants and one table, so that host, SDKs and tools define them in one
// place. REFERENCE.md is generated from them, ABI.md explains how they work together, and
// wasmjob.wit describes the same interface in the language of the component model. It
// contains no logic: the host's sandbox serves calls, and the SDKs make them. It imports
// nothing and also builds under TinyGo.
package abi

// Version is the major version of the ABI. It is part of Module and ExportMarker, so that
// a host can serve a later version as well.
const Version = 1

// HostMinor is the number of additions to version 1; a guest reads it as FieldHostMinor.
const HostMinor = 2

// Module is the import module of all functions that the host offers.
const Module = "wasmjob_v1"

// MarkerPrefix begins the marker of each version; the version's number follows.
const MarkerPrefix = "wasmjob_abi_v"

// Exports of a guest.
const (
	// ExportMemory is the only memory of the module: defined by it, not shared, not
	// imported.
	ExportMemory = "memory"
	// ExportMarker says which version of the ABI the module uses; it is never called.
	ExportMarker = "wasmjob_abi_v1"
	// ExportInitialize is called once before anything else, within the time of the run,
	// if it exists.
	ExportInitialize = "_initialize"
	// ExportExecute is the entry of a simple job: called once per item and attempt.
	ExportExecute = "wasmjob_execute"
	// ExportFetch is an entry of a dataflow job: fills a batch.
	ExportFetch = "wasmjob_fetch"
	// ExportProcess is the other entry of a dataflow job: handles the batch.
	ExportProcess = "wasmjob_process"
	// ExportShard is the entry of a strategy: assigns items.
	ExportShard = "wasmjob_shard"
	// ExportBefore is an optional listener, called once before the entry of each run, in the instance of execute or fetch.
	ExportBefore = "wasmjob_before"
	// ExportAfter is an optional listener, called after the entry of each run, in the same Wasm instance.
	ExportAfter = "wasmjob_after"
	// ExportStarted is an optional listener, called once per fire, on one server, when every item has begun.
	ExportStarted = "wasmjob_started"
	// ExportCompleted is an optional listener, called once per fire, on one server, when every item has ended.
	ExportCompleted = "wasmjob_completed"
	// ExportStart is the entry of a script, which is a WASI command. Such a module exports
	// neither wasmjob_abi_v1 nor another entry.
	ExportStart = "_start"
)

// Functions that the host offers under Module; Functions has their types. The parentheses
// contain the arguments.
const (
	// FuncCtxStr (field, buf, cap) reads a text field of the run.
	FuncCtxStr = "ctx_str"
	// FuncCtxInt (field) returns a number field of the run; the smallest i64 for an unknown field.
	FuncCtxInt = "ctx_int"
	// FuncCtxJSON (buf, cap) reads the whole context as JSON; -3 in a strategy.
	FuncCtxJSON = "ctx_json"
	// FuncConfigGet (key, klen, buf, cap) reads a setting of the job's table config; -3 if it is not set.
	FuncConfigGet = "config_get"
	// FuncLog (level, msg, len) writes a line to the host's log.
	FuncLog = "log"
	// FuncLogLevel () returns the lowest level that is logged.
	FuncLogLevel = "log_level"
	// FuncResultSet (ptr, len) sets the result of the run; a later call replaces it; -5,
	// changing nothing, if it is too long.
	FuncResultSet = "result_set"
	// FuncErrorSet (ptr, len) sets the reason that is recorded with the run, however that
	// ends; a later call replaces it; cut after 8 KiB.
	FuncErrorSet = "error_set"
	// FuncCancelled () returns why the run should stop, or 0.
	FuncCancelled = "cancelled"
	// FuncProgress (done, total) shows how far the run is.
	FuncProgress = "progress"
	// FuncMetricAdd (name, nlen, value) adds to a sum that is recorded with the run; -4
	// for a name that is not 1 to 64 letters, digits, _, . or -, or a value that is not
	// finite; -5 beyond 64 names; a secret in a name is masked.
	FuncMetricAdd = "metric_add"
	// FuncSleep (ms) waits; -6 as soon as the run should stop.
	FuncSleep = "sleep_ms"

	// FuncNow () returns the time in milliseconds since 1970.
	FuncNow = "now_unix_ms"
	// FuncRandom (buf, len) fills the buffer with random bytes; -5 above 64 KiB.
	FuncRandom = "random"

	// FuncBatchAdd (ptr, len) adds an element and returns its index; -5 beyond the limits.
	FuncBatchAdd = "batch_add"
	// FuncBatchCount () returns the number of elements.
	FuncBatchCount = "batch_count"
	// FuncBatchRead (index, buf, cap) reads an element; -4 beyond the last.
	FuncBatchRead = "batch_read"
	// FuncBatchAck (index, outcome) sets the outcome of an element; a later call replaces
	// it; -4 beyond the last.
	FuncBatchAck = "batch_ack"

	// FuncStateGet (key, klen, buf, cap) reads a value of the item; -3 if there is none.
	FuncStateGet = "state_get"
	// FuncStateSet (key, klen, val, vlen) sets a value; -4 for a key that is empty, longer than 256 bytes or not UTF-8; -5
	// beyond the limits.
	FuncStateSet = "state_set"
	// FuncStateDelete (key, klen) removes a value; -3 if there was none.
	FuncStateDelete = "state_delete"

	// FuncSecretGet (name, nlen, buf, cap) reads a secret; -2 if it is not granted.
	FuncSecretGet = "secret_get"

	// FuncHTTPRequest (req, len) sends a request, waits for the head of the response, and
	// returns its handle.
	FuncHTTPRequest = "http_request"
	// FuncHTTPStatus (handle) returns the status code.
	FuncHTTPStatus = "http_status"
	// FuncHTTPHeader (handle, name, nlen, buf, cap) reads a header, several of one name joined by ", "; -3 if there is none.
	FuncHTTPHeader = "http_header"
	// FuncHTTPRead (handle, buf, cap) reads the next bytes of the body, at most cap; 0 at its end; -5 when the body is
	// larger than http_body.
	FuncHTTPRead = "http_read"
	// FuncHTTPClose (handle) closes the response; open ones are closed when the entry
	// returns.
	FuncHTTPClose = "http_close"

	// FuncShardInstanceCount () returns the number of instances to assign to.
	FuncShardInstanceCount = "shard_instance_count"
	// FuncShardInstanceID (instance, buf, cap) reads the id of an instance; they are in
	// descending order, as for the built-in strategies; -4 beyond the last.
	FuncShardInstanceID = "shard_instance_id"
	// FuncShardInstanceLabel (instance, key, klen, buf, cap) reads a label of its server;
	// -3 if there is none of that name.
	FuncShardInstanceLabel = "shard_instance_label"
	// FuncShardPrev (item) returns the instance that owns the item now; -3 if its
	// owner is none of the instances; -4 if there is no such item.
	FuncShardPrev = "shard_prev"
	// FuncShardAssign (item, instance) assigns the item to the instance; -4 if there is
	// no such item or instance; -9 if the item was assigned before.
	FuncShardAssign = "shard_assign"
)

// Text fields, read with FuncCtxStr; -3 if the field has no value.
const (
	FieldJobName       = 1  // name of the job
	FieldTaskID        = 2  // task id, as ElasticJob writes it; none in a strategy
	FieldJobParam      = 3  // parameter of the job
	FieldShardingParam = 4  // parameter of the item
	FieldInstanceID    = 5  // id of the instance that runs it; none in a strategy
	FieldNamespace     = 6  // namespace of the registry
	FieldModuleDigest  = 7  // sha256 of the module, in hex
	FieldSeed          = 8  // seed: hex digits that differ between runs and items, but not between attempts; for a strategy, they depend on the job, the total and the set of instances
	FieldRunID         = 9  // run id: the same in every attempt; none in a strategy
	FieldReason        = 10 // if field 107 is 2 or more: in wasmjob_after, the reason that the run gave with error_set; none elsewhere
)

// Number fields, read with FuncCtxInt. Moments are milliseconds since 1970, 0 for none;
// fields without a meaning in a strategy are 0.
const (
	FieldShardingTotal = 100 // sharding total count
	FieldShardingItem  = 101 // sharding item
	FieldFireTime      = 102 // when this attempt began; without a granted clock, the scheduled instant
	FieldDeadline      = 103 // deadline; without a granted clock it counts from 102
	FieldAttempt       = 104 // attempt, from 1
	FieldFailover      = 105 // 1 if the item was taken over from another server
	FieldMisfire       = 106 // 1 if the run is for missed instants
	FieldHostMinor     = 107 // number of additions to version 1 that the host has
	FieldStreaming     = 108 // 1 in a streaming dataflow job
	FieldFence         = 109 // fencing token: a later owner of the item has a larger one
	FieldScheduledTime = 110 // scheduled instant
	FieldFetchCount    = 111 // number of elements that the job wants in a batch; 0: as many as the guest likes
	FieldOutcome       = 112 // if field 107 is 2 or more: in wasmjob_after, the result of the run; the smallest i64 elsewhere
	FieldFireSucceeded = 113 // if field 107 is 2 or more: in wasmjob_completed, the number of items that succeeded; the smallest i64 elsewhere or if unknown
	FieldFireFailed    = 114 // as 113: number of items that failed, were late or were stopped
	FieldFireSkipped   = 115 // as 113: number of items that had nothing to do
)

// NoInt is the result of FuncCtxInt for a field that the host does not know.
const NoInt = -1 << 63

// Error codes: the result of a host function instead of a length or a zero. New codes are
// only added at the end of the list.
const (
	ErrUnknownField = -1  // no such field
	ErrDenied       = -2  // not granted
	ErrNotFound     = -3  // no such value
	ErrInvalid      = -4  // invalid argument
	ErrLimit        = -5  // a size, count or rate is exceeded, or the host has no memory left for the data
	ErrCancelled    = -6  // the run is being stopped
	ErrTimeout      = -7  // timed out
	ErrIO           = -8  // input or output failed
	ErrConflict     = -9  // another caller was first
	ErrWrongPhase   = -10 // wrong time for this call
	ErrInternal     = -11 // a fault of the host
)

// Result codes: the return value of an entry of the guest. 4 to 127 are reserved, and
// negative numbers mean that an SDK was misused; both count as failed.
const (
	ResultOK        = 0   // done
	ResultFailed    = 1   // failed
	ResultRetryable = 2   // failed, and another attempt may help
	ResultSkipped   = 3   // there was nothing to do
	ResultLate      = 4   // only in field 112: the deadline has passed, whatever the entry returned
	ResultAuthor    = 128 // and above: failed, with a code that the author defines
)

// Outcomes of one element of a batch, given with FuncBatchAck.
const (
	AckDone   = 0 // done
	AckFailed = 1 // failed
	AckRetry  = 2 // to be retried
)

// Stop reasons: the result of FuncCancelled.
const (
	StopNone        = 0 // go on
	StopDeadline    = 1 // the deadline has passed
	StopShutdown    = 2 // the server shuts down
	StopDisabled    = 3 // the job was disabled
	StopResharding  = 4 // the items are being assigned anew
	StopSessionLost = 5 // the server's session with the registry is lost: another server may own the item soon
)

// Levels of FuncLog; FuncLogLevel returns the lowest one that is logged, or LevelNone.
const (
	LevelTrace = 0 // trace
	LevelDebug = 1 // debug
	LevelInfo  = 2 // info
	LevelWarn  = 3 // warn
	LevelError = 4 // error
	LevelNone  = 5 // only from log_level: nothing is logged
)
