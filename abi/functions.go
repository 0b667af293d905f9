package abi

// Grant is the key of [jobs.<name>.allow] without which a function returns ErrDenied;
// GrantNone for functions that every guest may call.
type Grant string

// Grants that functions need. Directories are granted, too, but used through WASI.
const (
	GrantNone    Grant = ""
	GrantClock   Grant = "clock"
	GrantRandom  Grant = "random"
	GrantState   Grant = "state"
	GrantSecrets Grant = "secrets"
	GrantHTTP    Grant = "http"
)

// Phase is a set of the entries during which a function may be called. At other times it
// returns ErrWrongPhase, or does nothing if it has no result.
type Phase uint8

// Phases. InInit is the time in which the module initializes itself.
const (
	InInit Phase = 1 << iota
	InRun        // execute, and the listeners of a run
	InFire       // the listeners of a fire: wasmjob_started and wasmjob_completed
	InFetch
	InProcess
	InShard

	InJob   = InInit | InRun | InFire | InFetch | InProcess
	Anytime = InJob | InShard
)

// Function is one function of Module.
type Function struct {
	Name string
	// Params and Results are value types in short form: i for i32, I for i64, F for f64.
	Params, Results string
	// Since is the first HostMinor that has it.
	Since int
	Grant Grant
	When  Phase
}

// Functions returns all functions of this version, in the order of ABI.md.
func Functions() []Function {
	return []Function{
		{FuncCtxStr, "iii", "i", 0, GrantNone, Anytime},
		{FuncCtxInt, "i", "I", 0, GrantNone, Anytime},
		{FuncCtxJSON, "ii", "i", 0, GrantNone, Anytime},
		{FuncConfigGet, "iiii", "i", 0, GrantNone, Anytime},
		{FuncLog, "iii", "", 0, GrantNone, Anytime},
		{FuncLogLevel, "", "i", 0, GrantNone, Anytime},
		{FuncResultSet, "ii", "i", 0, GrantNone, InJob},
		{FuncErrorSet, "ii", "i", 0, GrantNone, Anytime},
		{FuncCancelled, "", "i", 0, GrantNone, InJob},
		{FuncProgress, "II", "", 0, GrantNone, InJob},
		{FuncMetricAdd, "iiF", "i", 1, GrantNone, InJob},
		{FuncSleep, "i", "i", 1, GrantNone, InJob},

		{FuncNow, "", "I", 1, GrantClock, InJob},
		{FuncRandom, "ii", "i", 1, GrantRandom, InJob},

		{FuncBatchAdd, "ii", "i", 1, GrantNone, InFetch},
		{FuncBatchCount, "", "i", 1, GrantNone, InProcess},
		{FuncBatchRead, "iii", "i", 1, GrantNone, InProcess},
		{FuncBatchAck, "ii", "i", 1, GrantNone, InProcess},

		{FuncStateGet, "iiii", "i", 1, GrantState, InRun | InFetch | InProcess},
		{FuncStateSet, "iiii", "i", 1, GrantState, InRun | InFetch | InProcess},
		{FuncStateDelete, "ii", "i", 1, GrantState, InRun | InFetch | InProcess},

		{FuncSecretGet, "iiii", "i", 1, GrantSecrets, InJob},

		{FuncHTTPRequest, "ii", "i", 1, GrantHTTP, InJob},
		{FuncHTTPStatus, "i", "i", 1, GrantHTTP, InJob},
		{FuncHTTPHeader, "iiiii", "i", 1, GrantHTTP, InJob},
		{FuncHTTPRead, "iii", "i", 1, GrantHTTP, InJob},
		{FuncHTTPClose, "i", "i", 1, GrantHTTP, InJob},

		{FuncShardInstanceCount, "", "i", 1, GrantNone, InShard},
		{FuncShardInstanceID, "iii", "i", 1, GrantNone, InShard},
		{FuncShardInstanceLabel, "iiiii", "i", 1, GrantNone, InShard},
		{FuncShardPrev, "i", "i", 1, GrantNone, InShard},
		{FuncShardAssign, "ii", "i", 1, GrantNone, InShard},
	}
}
