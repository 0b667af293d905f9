//! The numbers of the contract, with the names of `abi.go` of the host; a test there
//! compares the two.

pub(crate) const HOST_MINOR: i32 = 2;

pub(crate) const FIELD_JOB_NAME: i32 = 1;
pub(crate) const FIELD_TASK_ID: i32 = 2;
pub(crate) const FIELD_JOB_PARAM: i32 = 3;
pub(crate) const FIELD_SHARDING_PARAM: i32 = 4;
pub(crate) const FIELD_INSTANCE_ID: i32 = 5;
pub(crate) const FIELD_NAMESPACE: i32 = 6;
pub(crate) const FIELD_MODULE_DIGEST: i32 = 7;
pub(crate) const FIELD_SEED: i32 = 8;
pub(crate) const FIELD_RUN_ID: i32 = 9;
pub(crate) const FIELD_REASON: i32 = 10;

pub(crate) const FIELD_SHARDING_TOTAL: i32 = 100;
pub(crate) const FIELD_SHARDING_ITEM: i32 = 101;
pub(crate) const FIELD_FIRE_TIME: i32 = 102;
pub(crate) const FIELD_DEADLINE: i32 = 103;
pub(crate) const FIELD_ATTEMPT: i32 = 104;
pub(crate) const FIELD_FAILOVER: i32 = 105;
pub(crate) const FIELD_MISFIRE: i32 = 106;
pub(crate) const FIELD_HOST_MINOR: i32 = 107;
pub(crate) const FIELD_STREAMING: i32 = 108;
pub(crate) const FIELD_FENCE: i32 = 109;
pub(crate) const FIELD_SCHEDULED_TIME: i32 = 110;
pub(crate) const FIELD_FETCH_COUNT: i32 = 111;
pub(crate) const FIELD_OUTCOME: i32 = 112;
pub(crate) const FIELD_FIRE_SUCCEEDED: i32 = 113;
pub(crate) const FIELD_FIRE_FAILED: i32 = 114;
pub(crate) const FIELD_FIRE_SKIPPED: i32 = 115;

pub(crate) const NO_INT: i64 = i64::MIN;

pub(crate) const ERR_UNKNOWN_FIELD: i32 = -1;
pub(crate) const ERR_DENIED: i32 = -2;
pub(crate) const ERR_NOT_FOUND: i32 = -3;
pub(crate) const ERR_INVALID: i32 = -4;
pub(crate) const ERR_LIMIT: i32 = -5;
pub(crate) const ERR_CANCELLED: i32 = -6;
pub(crate) const ERR_TIMEOUT: i32 = -7;
pub(crate) const ERR_IO: i32 = -8;
pub(crate) const ERR_CONFLICT: i32 = -9;
pub(crate) const ERR_WRONG_PHASE: i32 = -10;
pub(crate) const ERR_INTERNAL: i32 = -11;

pub(crate) const RESULT_OK: i32 = 0;
pub(crate) const RESULT_FAILED: i32 = 1;
pub(crate) const RESULT_RETRYABLE: i32 = 2;
pub(crate) const RESULT_SKIPPED: i32 = 3;
pub(crate) const RESULT_LATE: i32 = 4;
pub(crate) const RESULT_AUTHOR: i32 = 128;

pub(crate) const ACK_DONE: i32 = 0;
pub(crate) const ACK_FAILED: i32 = 1;
pub(crate) const ACK_RETRY: i32 = 2;

pub(crate) const STOP_NONE: i32 = 0;
pub(crate) const STOP_DEADLINE: i32 = 1;
pub(crate) const STOP_SHUTDOWN: i32 = 2;
pub(crate) const STOP_DISABLED: i32 = 3;
pub(crate) const STOP_RESHARDING: i32 = 4;
pub(crate) const STOP_SESSION_LOST: i32 = 5;

pub(crate) const LEVEL_TRACE: i32 = 0;
pub(crate) const LEVEL_DEBUG: i32 = 1;
pub(crate) const LEVEL_INFO: i32 = 2;
pub(crate) const LEVEL_WARN: i32 = 3;
pub(crate) const LEVEL_ERROR: i32 = 4;
pub(crate) const LEVEL_NONE: i32 = 5;
