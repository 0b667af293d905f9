// Package abi names what a guest module and its host agree on: the import
// module, the exports, the functions with their types, the field ids and the
// codes of version 1 of the ABI.
//
// It holds constants and one table, so that host, SDKs and tools spell them in
// one place; ABI.md beside it says what they mean, and wasmjob.wit shows the
// same interface in the language of the component model. It is not for logic:
// how a call is served belongs to the host's sandbox, how it is made to the
// SDKs. It imports nothing and also builds under TinyGo.
package abi

// Version is the major version of the ABI; it is part of Module and
// ExportMarker, so that a later version can be served beside this one.
const Version = 1

// HostMinor counts the additions to version 1; a guest reads it as FieldHostMinor.
const HostMinor = 2

// Module is the import module of all functions that the host offers.
const Module = "wasmjob_v1"

// MarkerPrefix begins the marker of each version; the number follows.
const MarkerPrefix = "wasmjob_abi_v"

// Exports of a guest.
const (
	// ExportMarker says which ABI the guest speaks; the host never calls it.
	ExportMarker = "wasmjob_abi_v1"
	// ExportInitialize is called once before anything else, if it is there.
	ExportInitialize = "_initialize"
	// ExportExecute is the entry of a simple job.
	ExportExecute = "wasmjob_execute"
	// ExportFetch and ExportProcess are the entries of a dataflow job.
	ExportFetch   = "wasmjob_fetch"
	ExportProcess = "wasmjob_process"
	// ExportShard is the entry of a sharding strategy.
	ExportShard = "wasmjob_shard"
	// ExportBefore and ExportAfter surround each run.
	ExportBefore = "wasmjob_before"
	ExportAfter  = "wasmjob_after"
	// ExportStarted and ExportCompleted are called once per fire of a job.
	ExportStarted   = "wasmjob_started"
	ExportCompleted = "wasmjob_completed"
	// ExportStart is the entry of a WASI command, which only a script job is.
	ExportStart = "_start"
	// ExportMemory is the one memory of the guest.
	ExportMemory = "memory"
)

// Functions that the host offers under Module; Functions has their types.
const (
	FuncCtxStr    = "ctx_str"
	FuncCtxInt    = "ctx_int"
	FuncCtxJSON   = "ctx_json"
	FuncConfigGet = "config_get"
	FuncLog       = "log"
	FuncLogLevel  = "log_level"
	FuncResultSet = "result_set"
	FuncErrorSet  = "error_set"
	FuncCancelled = "cancelled"
	FuncProgress  = "progress"
	FuncMetricAdd = "metric_add"
	FuncSleep     = "sleep_ms"

	FuncNow    = "now_unix_ms"
	FuncRandom = "random"

	FuncBatchAdd   = "batch_add"
	FuncBatchCount = "batch_count"
	FuncBatchRead  = "batch_read"
	FuncBatchAck   = "batch_ack"

	FuncStateGet    = "state_get"
	FuncStateSet    = "state_set"
	FuncStateDelete = "state_delete"

	FuncSecretGet = "secret_get"

	FuncHTTPRequest = "http_request"
	FuncHTTPStatus  = "http_status"
	FuncHTTPHeader  = "http_header"
	FuncHTTPRead    = "http_read"
	FuncHTTPClose   = "http_close"

	FuncShardInstanceCount = "shard_instance_count"
	FuncShardInstanceID    = "shard_instance_id"
	FuncShardInstanceLabel = "shard_instance_label"
	FuncShardPrev          = "shard_prev"
	FuncShardAssign        = "shard_assign"
)

// Text fields, read with FuncCtxStr.
const (
	FieldJobName       = 1
	FieldTaskID        = 2
	FieldJobParam      = 3
	FieldShardingParam = 4
	FieldInstanceID    = 5
	FieldNamespace     = 6
	FieldModuleDigest  = 7
	FieldSeed          = 8
	FieldRunID         = 9
	FieldReason        = 10 // in wasmjob_after alone
)

// Number fields, read with FuncCtxInt.
const (
	FieldShardingTotal = 100
	FieldShardingItem  = 101
	FieldFireTime      = 102 // milliseconds since 1970
	FieldDeadline      = 103 // milliseconds since 1970; 0: none
	FieldAttempt       = 104
	FieldFailover      = 105 // 0 or 1
	FieldMisfire       = 106 // 0 or 1
	FieldHostMinor     = 107
	FieldStreaming     = 108 // 0 or 1
	FieldFence         = 109
	FieldScheduledTime = 110 // milliseconds since 1970
	FieldFetchCount    = 111 // 0: as many as the guest likes
	FieldOutcome       = 112 // in wasmjob_after alone: a Result code; NoInt elsewhere

	// In wasmjob_completed alone, how many items of the fire ended so; NoInt
	// elsewhere, and where the host does not know.
	FieldFireSucceeded = 113
	FieldFireFailed    = 114
	FieldFireSkipped   = 115
)

// NoInt is what FuncCtxInt answers for a field it does not know.
const NoInt = -1 << 63

// Error codes: what a host function answers instead of a length or a zero.
// The list only ever grows at its end.
const (
	ErrUnknownField = -1  // the host knows no such field
	ErrDenied       = -2  // the job is not granted this
	ErrNotFound     = -3  // there is no such value
	ErrInvalid      = -4  // an argument makes no sense
	ErrLimit        = -5  // a size, count or rate was exceeded
	ErrCancelled    = -6  // the run is being stopped
	ErrTimeout      = -7  // the operation took too long
	ErrIO           = -8  // the outside world failed
	ErrConflict     = -9  // somebody else was first
	ErrWrongPhase   = -10 // not to be called now
	ErrInternal     = -11 // the host's fault
)

// Result codes: what an entry of the guest returns.
const (
	ResultOK        = 0
	ResultFailed    = 1
	ResultRetryable = 2 // failed, and may be tried again
	ResultSkipped   = 3 // there was nothing to do
	// ResultLate is no entry's to return: FieldOutcome of a run that returned
	// after its deadline.
	ResultLate = 4
	// ResultAuthor is the first of the failure codes that an author may give
	// a meaning of their own; those between are reserved.
	ResultAuthor = 128
)

// Outcomes of one element of a batch, given with FuncBatchAck.
const (
	AckDone   = 0
	AckFailed = 1
	AckRetry  = 2
)

// Stop reasons: what FuncCancelled answers.
const (
	StopNone        = 0
	StopDeadline    = 1
	StopShutdown    = 2
	StopDisabled    = 3
	StopResharding  = 4
	StopSessionLost = 5
)

// Levels of FuncLog; FuncLogLevel answers the lowest that is kept, or
// LevelNone.
const (
	LevelTrace = 0
	LevelDebug = 1
	LevelInfo  = 2
	LevelWarn  = 3
	LevelError = 4
	LevelNone  = 5
)
