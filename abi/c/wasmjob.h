/* wasmjob.h - the SDK for jobs and sharding strategies written in C.
 *
 *   #include "wasmjob.h"
 *   WASMJOB_MODULE
 *
 *   int32_t wasmjob_execute(void) {
 *     wasmjob_info("hello");
 *     wasmjob_result_text("done");
 *     return WASMJOB_RESULT_OK;
 *   }
 *
 * The contract behind it is abi/ABI.md; README.md has the commands that build a
 * module. The header needs C11 or C++20 and clang, but neither a C library nor
 * an allocator: all buffers are the caller's.
 *
 * Reads follow the rule of snprintf. They return the length of the value, and
 * write it with a closing zero byte if the length is less than cap. Otherwise buf
 * holds the empty text: read again with a buffer of the length plus one. cap 0
 * only returns the length. A negative result is one of WASMJOB_ERR_. The only
 * exception is wasmjob_http_read, which reads a stream.
 *
 * With WASMJOB_NATIVE defined the host's functions are ordinary ones, for tests
 * of a job's logic with the machine's own compiler: wasmjob_fake.h has them. */
#ifndef WASMJOB_H
#define WASMJOB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Numbers of the contract ---- */

/* The result of an entry. */
enum {
  WASMJOB_RESULT_OK = 0,
  WASMJOB_RESULT_FAILED = 1,
  WASMJOB_RESULT_RETRYABLE = 2, /* failed, and another attempt may help */
  WASMJOB_RESULT_SKIPPED = 3,   /* there was nothing to do */
  WASMJOB_RESULT_LATE = 4,      /* only from wasmjob_ended: after its deadline, whatever it returned */
  WASMJOB_RESULT_AUTHOR = 128,  /* the first code that you can define */
};

/* Why a function of the host failed; wasmjob_error_name names the code. */
enum {
  WASMJOB_ERR_UNKNOWN_FIELD = -1,
  WASMJOB_ERR_DENIED = -2,    /* the job is not granted this */
  WASMJOB_ERR_NOT_FOUND = -3, /* there is no such value */
  WASMJOB_ERR_INVALID = -4,   /* an argument is invalid */
  WASMJOB_ERR_LIMIT = -5,     /* a size, count or rate is exceeded */
  WASMJOB_ERR_CANCELLED = -6, /* the run is being stopped */
  WASMJOB_ERR_TIMEOUT = -7,
  WASMJOB_ERR_IO = -8,          /* input or output failed */
  WASMJOB_ERR_CONFLICT = -9,    /* another caller was first */
  WASMJOB_ERR_WRONG_PHASE = -10, /* must not be called now */
  WASMJOB_ERR_INTERNAL = -11,   /* a fault of the host */
};

/* The outcome of one element of a batch. */
enum { WASMJOB_ACK_DONE = 0, WASMJOB_ACK_FAILED = 1, WASMJOB_ACK_RETRY = 2 };

/* Why a run should stop. */
enum {
  WASMJOB_STOP_NONE = 0,
  WASMJOB_STOP_DEADLINE = 1,
  WASMJOB_STOP_SHUTDOWN = 2,
  WASMJOB_STOP_DISABLED = 3,
  WASMJOB_STOP_RESHARDING = 4,   /* the items are being assigned anew */
  WASMJOB_STOP_SESSION_LOST = 5, /* another server may own the item soon */
};

/* The importance of a log line; NONE is only an answer: nothing is logged. */
enum {
  WASMJOB_LEVEL_TRACE = 0,
  WASMJOB_LEVEL_DEBUG = 1,
  WASMJOB_LEVEL_INFO = 2,
  WASMJOB_LEVEL_WARN = 3,
  WASMJOB_LEVEL_ERROR = 4,
  WASMJOB_LEVEL_NONE = 5,
};

/* Fields of the run; the functions below read all of them by name. */
enum {
  WASMJOB_FIELD_JOB_NAME = 1,
  WASMJOB_FIELD_TASK_ID = 2,
  WASMJOB_FIELD_JOB_PARAM = 3,
  WASMJOB_FIELD_SHARDING_PARAM = 4,
  WASMJOB_FIELD_INSTANCE_ID = 5,
  WASMJOB_FIELD_NAMESPACE = 6,
  WASMJOB_FIELD_MODULE_DIGEST = 7,
  WASMJOB_FIELD_SEED = 8,
  WASMJOB_FIELD_RUN_ID = 9,
  WASMJOB_FIELD_REASON = 10,

  WASMJOB_FIELD_SHARDING_TOTAL = 100,
  WASMJOB_FIELD_SHARDING_ITEM = 101,
  WASMJOB_FIELD_FIRE_TIME = 102,
  WASMJOB_FIELD_DEADLINE = 103,
  WASMJOB_FIELD_ATTEMPT = 104,
  WASMJOB_FIELD_FAILOVER = 105,
  WASMJOB_FIELD_MISFIRE = 106,
  WASMJOB_FIELD_HOST_MINOR = 107,
  WASMJOB_FIELD_STREAMING = 108,
  WASMJOB_FIELD_FENCE = 109,
  WASMJOB_FIELD_SCHEDULED_TIME = 110,
  WASMJOB_FIELD_FETCH_COUNT = 111,
  WASMJOB_FIELD_OUTCOME = 112,
  WASMJOB_FIELD_FIRE_SUCCEEDED = 113,
  WASMJOB_FIELD_FIRE_FAILED = 114,
  WASMJOB_FIELD_FIRE_SKIPPED = 115,
};

/* ---- What a module exports ---- */

#ifdef WASMJOB_NATIVE
#define WASMJOB_IMPORT(name) extern
#define WASMJOB_EXPORT(name)
#else
#define WASMJOB_IMPORT(name) __attribute__((import_module("wasmjob_v1"), import_name(#name))) extern
#define WASMJOB_EXPORT(name) __attribute__((export_name(#name)))
#endif

/* Define those that the job needs; a definition exports itself. */
WASMJOB_EXPORT(wasmjob_execute) int32_t wasmjob_execute(void);
WASMJOB_EXPORT(wasmjob_fetch) int32_t wasmjob_fetch(void);
WASMJOB_EXPORT(wasmjob_process) int32_t wasmjob_process(void);
WASMJOB_EXPORT(wasmjob_shard) int32_t wasmjob_shard(void);
/* Runs once, in the instance of execute or fetch. It does not run in other instances
 * that process gets, with concurrency or after a trap: prepare what each instance
 * needs in a constructor, which _initialize of a reactor calls. */
WASMJOB_EXPORT(wasmjob_before) int32_t wasmjob_before(void);
WASMJOB_EXPORT(wasmjob_after) int32_t wasmjob_after(void);
WASMJOB_EXPORT(wasmjob_started) int32_t wasmjob_started(void);
WASMJOB_EXPORT(wasmjob_completed) int32_t wasmjob_completed(void);
WASMJOB_EXPORT(wasmjob_abi_v1) void wasmjob_abi_v1(void);

/* Marks the version of the contract that the module uses. Write it once, in one file, without a semicolon. */
#define WASMJOB_MODULE \
  void wasmjob_abi_v1(void) {}

/* ---- The host's functions, unwrapped ---- */

WASMJOB_IMPORT(ctx_str) int32_t wasmjob_v1_ctx_str(int32_t field, void *buf, int32_t cap);
WASMJOB_IMPORT(ctx_int) int64_t wasmjob_v1_ctx_int(int32_t field);
WASMJOB_IMPORT(ctx_json) int32_t wasmjob_v1_ctx_json(void *buf, int32_t cap);
WASMJOB_IMPORT(config_get) int32_t wasmjob_v1_config_get(const void *key, int32_t klen, void *buf, int32_t cap);
WASMJOB_IMPORT(log) void wasmjob_v1_log(int32_t level, const void *msg, int32_t len);
WASMJOB_IMPORT(log_level) int32_t wasmjob_v1_log_level(void);
WASMJOB_IMPORT(result_set) int32_t wasmjob_v1_result_set(const void *ptr, int32_t len);
WASMJOB_IMPORT(error_set) int32_t wasmjob_v1_error_set(const void *ptr, int32_t len);
WASMJOB_IMPORT(cancelled) int32_t wasmjob_v1_cancelled(void);
WASMJOB_IMPORT(progress) void wasmjob_v1_progress(int64_t done, int64_t total);
WASMJOB_IMPORT(metric_add) int32_t wasmjob_v1_metric_add(const void *name, int32_t nlen, double value);
WASMJOB_IMPORT(sleep_ms) int32_t wasmjob_v1_sleep_ms(int32_t ms);
WASMJOB_IMPORT(now_unix_ms) int64_t wasmjob_v1_now_unix_ms(void);
WASMJOB_IMPORT(random) int32_t wasmjob_v1_random(void *buf, int32_t len);
WASMJOB_IMPORT(batch_add) int32_t wasmjob_v1_batch_add(const void *ptr, int32_t len);
WASMJOB_IMPORT(batch_count) int32_t wasmjob_v1_batch_count(void);
WASMJOB_IMPORT(batch_read) int32_t wasmjob_v1_batch_read(int32_t index, void *buf, int32_t cap);
WASMJOB_IMPORT(batch_ack) int32_t wasmjob_v1_batch_ack(int32_t index, int32_t outcome);
WASMJOB_IMPORT(state_get) int32_t wasmjob_v1_state_get(const void *key, int32_t klen, void *buf, int32_t cap);
WASMJOB_IMPORT(state_set) int32_t wasmjob_v1_state_set(const void *key, int32_t klen, const void *val, int32_t vlen);
WASMJOB_IMPORT(state_delete) int32_t wasmjob_v1_state_delete(const void *key, int32_t klen);
WASMJOB_IMPORT(secret_get) int32_t wasmjob_v1_secret_get(const void *name, int32_t nlen, void *buf, int32_t cap);
WASMJOB_IMPORT(http_request) int32_t wasmjob_v1_http_request(const void *req, int32_t len);
WASMJOB_IMPORT(http_status) int32_t wasmjob_v1_http_status(int32_t handle);
WASMJOB_IMPORT(http_header) int32_t wasmjob_v1_http_header(int32_t handle, const void *name, int32_t nlen, void *buf, int32_t cap);
WASMJOB_IMPORT(http_read) int32_t wasmjob_v1_http_read(int32_t handle, void *buf, int32_t cap);
WASMJOB_IMPORT(http_close) int32_t wasmjob_v1_http_close(int32_t handle);
WASMJOB_IMPORT(shard_instance_count) int32_t wasmjob_v1_shard_instance_count(void);
WASMJOB_IMPORT(shard_instance_id) int32_t wasmjob_v1_shard_instance_id(int32_t instance, void *buf, int32_t cap);
WASMJOB_IMPORT(shard_instance_label) int32_t wasmjob_v1_shard_instance_label(int32_t instance, const void *key, int32_t klen, void *buf, int32_t cap);
WASMJOB_IMPORT(shard_prev) int32_t wasmjob_v1_shard_prev(int32_t item);
WASMJOB_IMPORT(shard_assign) int32_t wasmjob_v1_shard_assign(int32_t item, int32_t instance);

#ifdef WASMJOB_NATIVE
__attribute__((noreturn)) extern void wasmjob_fake_trap(void);
#define WASMJOB_TRAP() wasmjob_fake_trap()
#else
#define WASMJOB_TRAP() __builtin_trap()
#endif

/* ---- Texts ---- */

/* The length of a text; NULL is empty. */
static inline int32_t wasmjob_strlen(const char *text) {
  int32_t n = 0;
  if (text)
    while (text[n]) n++;
  return n;
}

/* One byte of the buffer is reserved for the closing zero byte. */
static inline int32_t wasmjob_room(size_t cap) {
  return cap == 0 ? 0 : cap > INT32_MAX ? INT32_MAX : (int32_t)(cap - 1);
}

/* Closes a text that was read with a zero byte. If it did not fit, or there is none, buf holds the empty text. */
static inline int32_t wasmjob_closed(int32_t n, void *buf, size_t cap) {
  if (cap > 0) ((char *)buf)[n >= 0 && (size_t)n < cap ? n : 0] = 0;
  return n;
}

/* The name of a code, for reasons and log lines. */
static inline const char *wasmjob_error_name(int32_t code) {
  switch (code) {
  case WASMJOB_ERR_UNKNOWN_FIELD: return "unknown field";
  case WASMJOB_ERR_DENIED: return "denied";
  case WASMJOB_ERR_NOT_FOUND: return "not found";
  case WASMJOB_ERR_INVALID: return "invalid";
  case WASMJOB_ERR_LIMIT: return "limit";
  case WASMJOB_ERR_CANCELLED: return "cancelled";
  case WASMJOB_ERR_TIMEOUT: return "timeout";
  case WASMJOB_ERR_IO: return "io";
  case WASMJOB_ERR_CONFLICT: return "conflict";
  case WASMJOB_ERR_WRONG_PHASE: return "wrong phase";
  case WASMJOB_ERR_INTERNAL: return "internal";
  default: return code < 0 ? "unknown code" : "ok";
  }
}

/* ---- The run ---- */

/* Reads a text field. */
static inline int32_t wasmjob_text(int32_t field, char *buf, size_t cap) {
  return wasmjob_closed(wasmjob_v1_ctx_str(field, buf, wasmjob_room(cap)), buf, cap);
}

static inline int32_t wasmjob_job_name(char *buf, size_t cap) { return wasmjob_text(WASMJOB_FIELD_JOB_NAME, buf, cap); }
static inline int32_t wasmjob_job_param(char *buf, size_t cap) { return wasmjob_text(WASMJOB_FIELD_JOB_PARAM, buf, cap); }
/* The parameter of the item; WASMJOB_ERR_NOT_FOUND if it has none. */
static inline int32_t wasmjob_param(char *buf, size_t cap) { return wasmjob_text(WASMJOB_FIELD_SHARDING_PARAM, buf, cap); }
/* ElasticJob's id of this fire on this server. */
static inline int32_t wasmjob_task_id(char *buf, size_t cap) { return wasmjob_text(WASMJOB_FIELD_TASK_ID, buf, cap); }
/* The same in every attempt of this run: a key for effects that must happen only once. */
static inline int32_t wasmjob_run_id(char *buf, size_t cap) { return wasmjob_text(WASMJOB_FIELD_RUN_ID, buf, cap); }
static inline int32_t wasmjob_instance_id(char *buf, size_t cap) { return wasmjob_text(WASMJOB_FIELD_INSTANCE_ID, buf, cap); }
static inline int32_t wasmjob_namespace(char *buf, size_t cap) { return wasmjob_text(WASMJOB_FIELD_NAMESPACE, buf, cap); }
/* The sha256 of this module, in hex. */
static inline int32_t wasmjob_module_digest(char *buf, size_t cap) { return wasmjob_text(WASMJOB_FIELD_MODULE_DIGEST, buf, cap); }
/* Hex digits that differ between runs and items, but not between attempts. */
static inline int32_t wasmjob_seed(char *buf, size_t cap) { return wasmjob_text(WASMJOB_FIELD_SEED, buf, cap); }

/* The item that this run is for, from 0 to wasmjob_total() - 1. */
static inline int32_t wasmjob_item(void) { return (int32_t)wasmjob_v1_ctx_int(WASMJOB_FIELD_SHARDING_ITEM); }
static inline int32_t wasmjob_total(void) { return (int32_t)wasmjob_v1_ctx_int(WASMJOB_FIELD_SHARDING_TOTAL); }
/* Counts the attempts of this run from 1. */
static inline int32_t wasmjob_attempt(void) { return (int32_t)wasmjob_v1_ctx_int(WASMJOB_FIELD_ATTEMPT); }
/* A later owner of the item has a larger one, so a store that remembers the largest can refuse late writes. */
static inline int64_t wasmjob_fence(void) { return wasmjob_v1_ctx_int(WASMJOB_FIELD_FENCE); }
/* Moments are milliseconds since 1970, 0 for none. Scheduled is the instant that the run is for. */
static inline int64_t wasmjob_scheduled(void) { return wasmjob_v1_ctx_int(WASMJOB_FIELD_SCHEDULED_TIME); }
/* When this attempt began; without a granted clock the same as scheduled. */
static inline int64_t wasmjob_fired(void) { return wasmjob_v1_ctx_int(WASMJOB_FIELD_FIRE_TIME); }
static inline int64_t wasmjob_deadline(void) { return wasmjob_v1_ctx_int(WASMJOB_FIELD_DEADLINE); }
/* 1 if the item was taken over from another server. */
static inline int32_t wasmjob_failover(void) { return (int32_t)wasmjob_v1_ctx_int(WASMJOB_FIELD_FAILOVER); }
/* 1 if the run is for missed instants. */
static inline int32_t wasmjob_misfire(void) { return (int32_t)wasmjob_v1_ctx_int(WASMJOB_FIELD_MISFIRE); }
static inline int32_t wasmjob_host_minor(void) { return (int32_t)wasmjob_v1_ctx_int(WASMJOB_FIELD_HOST_MINOR); }
static inline int32_t wasmjob_streaming(void) { return (int32_t)wasmjob_v1_ctx_int(WASMJOB_FIELD_STREAMING); }
/* The number of elements that the job wants in a batch; 0: as many as you like. */
static inline int32_t wasmjob_fetch_count(void) { return (int32_t)wasmjob_v1_ctx_int(WASMJOB_FIELD_FETCH_COUNT); }

/* In wasmjob_after: how the run has ended, one of WASMJOB_RESULT_ or a code of
 * your own, and its reason, or WASMJOB_ERR_NOT_FOUND if it gave none. Elsewhere,
 * and on a host whose wasmjob_host_minor() is below 2, both are negative. */
static inline int32_t wasmjob_known(int32_t field) {
  int64_t n = wasmjob_v1_ctx_int(field);
  return n == INT64_MIN ? WASMJOB_ERR_NOT_FOUND : (int32_t)n;
}
static inline int32_t wasmjob_ended(void) { return wasmjob_known(WASMJOB_FIELD_OUTCOME); }
static inline int32_t wasmjob_ended_reason(char *buf, size_t cap) { return wasmjob_text(WASMJOB_FIELD_REASON, buf, cap); }

/* In wasmjob_completed: the number of items, on all servers, that succeeded,
 * failed (or were late, or stopped), had nothing to do. Negative elsewhere, and if
 * the host does not know. */
static inline int32_t wasmjob_fire_succeeded(void) { return wasmjob_known(WASMJOB_FIELD_FIRE_SUCCEEDED); }
static inline int32_t wasmjob_fire_failed(void) { return wasmjob_known(WASMJOB_FIELD_FIRE_FAILED); }
static inline int32_t wasmjob_fire_skipped(void) { return wasmjob_known(WASMJOB_FIELD_FIRE_SKIPPED); }

/* The whole context as JSON. */
static inline int32_t wasmjob_json(char *buf, size_t cap) {
  return wasmjob_closed(wasmjob_v1_ctx_json(buf, wasmjob_room(cap)), buf, cap);
}

/* A setting from the job's table config; WASMJOB_ERR_NOT_FOUND if it is not set. */
static inline int32_t wasmjob_config(const char *key, char *buf, size_t cap) {
  return wasmjob_closed(wasmjob_v1_config_get(key, wasmjob_strlen(key), buf, wasmjob_room(cap)), buf, cap);
}

/* Why the run should stop, or 0. A long run checks this regularly and returns;
 * otherwise it is ended after its grace period. */
static inline int32_t wasmjob_cancelled(void) { return wasmjob_v1_cancelled(); }

/* Waits, not at all for a negative time; WASMJOB_ERR_CANCELLED as soon as the run should stop. */
static inline int32_t wasmjob_sleep(int32_t ms) { return wasmjob_v1_sleep_ms(ms < 0 ? 0 : ms); }

/* ---- What the run reports ---- */

/* Whether lines of the level are logged: check it before building an expensive line. */
static inline int wasmjob_enabled(int32_t level) { return level >= wasmjob_v1_log_level(); }

static inline void wasmjob_log(int32_t level, const char *message) { wasmjob_v1_log(level, message, wasmjob_strlen(message)); }
static inline void wasmjob_trace(const char *message) { wasmjob_log(WASMJOB_LEVEL_TRACE, message); }
static inline void wasmjob_debug(const char *message) { wasmjob_log(WASMJOB_LEVEL_DEBUG, message); }
static inline void wasmjob_info(const char *message) { wasmjob_log(WASMJOB_LEVEL_INFO, message); }
static inline void wasmjob_warn(const char *message) { wasmjob_log(WASMJOB_LEVEL_WARN, message); }
static inline void wasmjob_error(const char *message) { wasmjob_log(WASMJOB_LEVEL_ERROR, message); }

/* Sets the result of the run; a later call replaces it. WASMJOB_ERR_LIMIT,
 * changing nothing, if it is too large for the host. */
static inline int32_t wasmjob_result(const void *data, size_t len) { return wasmjob_v1_result_set(data, (int32_t)len); }
static inline int32_t wasmjob_result_text(const char *text) { return wasmjob_result(text, (size_t)wasmjob_strlen(text)); }

static inline void wasmjob_progress(int64_t done, int64_t total) { wasmjob_v1_progress(done, total); }

/* Adds to a sum that is recorded with the run. */
static inline int32_t wasmjob_metric(const char *name, double value) {
  return wasmjob_v1_metric_add(name, wasmjob_strlen(name), value);
}

/* These set the reason and return the value to return: return wasmjob_fail("no rows"); */
static inline int32_t wasmjob_fail_code(int32_t code, const char *reason) {
  wasmjob_v1_error_set(reason, wasmjob_strlen(reason));
  return code;
}
static inline int32_t wasmjob_fail(const char *reason) { return wasmjob_fail_code(WASMJOB_RESULT_FAILED, reason); }
static inline int32_t wasmjob_retry(const char *reason) { return wasmjob_fail_code(WASMJOB_RESULT_RETRYABLE, reason); }
static inline int32_t wasmjob_skip(const char *reason) { return wasmjob_fail_code(WASMJOB_RESULT_SKIPPED, reason); }

/* Ends the run at once with that reason. */
__attribute__((noreturn)) static inline void wasmjob_panic(const char *reason) {
  wasmjob_v1_error_set(reason, wasmjob_strlen(reason));
  WASMJOB_TRAP();
}

/* Ends the run if a condition is false; unlike assert, it also works without a C library. */
#define WASMJOB_LINE_TEXT(line) #line
#define WASMJOB_LINE(line) WASMJOB_LINE_TEXT(line)
#define wasmjob_assert(holds) \
  ((holds) ? (void)0 : wasmjob_panic("assertion failed: " #holds " (" __FILE__ ":" WASMJOB_LINE(__LINE__) ")"))

/* ---- With a grant ---- */

/* Milliseconds since 1970, or a negative code; needs the grant clock. */
static inline int64_t wasmjob_now(void) { return wasmjob_v1_now_unix_ms(); }

/* Fills the buffer, of at most 65536 bytes; needs the grant random. */
static inline int32_t wasmjob_random(void *buf, size_t len) { return wasmjob_v1_random(buf, (int32_t)len); }

/* Values that belong to the item, wherever it runs; they need the grant state.
 * A change is visible at once, and kept if the entry returns 0. */
static inline int32_t wasmjob_state_get(const char *key, void *buf, size_t cap) {
  return wasmjob_closed(wasmjob_v1_state_get(key, wasmjob_strlen(key), buf, wasmjob_room(cap)), buf, cap);
}
static inline int32_t wasmjob_state_set(const char *key, const void *value, size_t len) {
  return wasmjob_v1_state_set(key, wasmjob_strlen(key), value, (int32_t)len);
}
static inline int32_t wasmjob_state_set_text(const char *key, const char *value) {
  return wasmjob_state_set(key, value, (size_t)wasmjob_strlen(value));
}
static inline int32_t wasmjob_state_delete(const char *key) { return wasmjob_v1_state_delete(key, wasmjob_strlen(key)); }

/* A secret; needs the grant secrets for that name. */
static inline int32_t wasmjob_secret(const char *name, char *buf, size_t cap) {
  return wasmjob_closed(wasmjob_v1_secret_get(name, wasmjob_strlen(name), buf, wasmjob_room(cap)), buf, cap);
}

/* A request; headers are lines "Name: value\n", or NULL. In a value {{secret:name}}
 * stands for a granted secret. Method and URL must not contain a line break. */
struct wasmjob_request {
  const char *method, *url, *headers;
  const void *body;
  size_t body_len;
};

/* Appends bytes as far as they fit, and returns the length that all need. */
static inline size_t wasmjob_append(char *buf, size_t cap, size_t at, const void *from, size_t len) {
  for (size_t i = 0; i < len && at + i < cap; i++) buf[at + i] = ((const char *)from)[i];
  return at + len;
}

/* The same for a text. */
static inline size_t wasmjob_append_text(char *buf, size_t cap, size_t at, const char *text) {
  return wasmjob_append(buf, cap, at, text, (size_t)wasmjob_strlen(text));
}

/* Whether a text has no line break, which would add lines to the head of a request. */
static inline int wasmjob_one_line(const char *text) {
  while (*text && *text != '\n' && *text != '\r') text++;
  return *text == 0;
}

/* Builds a request in buf, sends it, and waits for the head of the response.
 * Returns its handle, or a negative code. Needs the grant http. */
static inline int32_t wasmjob_http(const struct wasmjob_request *r, char *buf, size_t cap) {
  if (!wasmjob_one_line(r->method) || !wasmjob_one_line(r->url)) return WASMJOB_ERR_INVALID;
  size_t n = wasmjob_append_text(buf, cap, 0, r->method);
  n = wasmjob_append_text(buf, cap, n, " ");
  n = wasmjob_append_text(buf, cap, n, r->url);
  n = wasmjob_append_text(buf, cap, n, "\n");
  n = wasmjob_append_text(buf, cap, n, r->headers);
  n = wasmjob_append_text(buf, cap, n, "\n");
  n = wasmjob_append(buf, cap, n, r->body, r->body_len);
  return n > cap ? WASMJOB_ERR_LIMIT : wasmjob_v1_http_request(buf, (int32_t)n);
}

/* The status, such as 200 or 404. */
static inline int32_t wasmjob_http_status(int32_t handle) { return wasmjob_v1_http_status(handle); }

/* A header; several of one name are joined by ", ". */
static inline int32_t wasmjob_http_header(int32_t handle, const char *name, char *buf, size_t cap) {
  return wasmjob_closed(wasmjob_v1_http_header(handle, name, wasmjob_strlen(name), buf, wasmjob_room(cap)), buf, cap);
}

/* The next bytes of the body, at most cap and without a closing zero; 0 at its end. */
static inline int32_t wasmjob_http_read(int32_t handle, void *buf, size_t cap) {
  return wasmjob_v1_http_read(handle, buf, cap > INT32_MAX ? INT32_MAX : (int32_t)cap);
}

static inline int32_t wasmjob_http_close(int32_t handle) { return wasmjob_v1_http_close(handle); }

/* The rest of the body as a text; closes the response. WASMJOB_ERR_LIMIT if it is
 * not shorter than cap. */
static inline int32_t wasmjob_http_body(int32_t handle, char *buf, size_t cap) {
  size_t length = 0;
  int32_t n = cap == 0 ? WASMJOB_ERR_LIMIT : 1;
  while (n > 0) {
    n = wasmjob_http_read(handle, buf + length, cap - length);
    if (n > 0) length += (size_t)n;
    if (n > 0 && length == cap) n = WASMJOB_ERR_LIMIT;
  }
  wasmjob_v1_http_close(handle);
  return wasmjob_closed(n < 0 ? n : (int32_t)length, buf, cap);
}

/* ---- A dataflow job ---- */

/* In wasmjob_fetch: adds an element and returns its index, or WASMJOB_ERR_LIMIT if
 * the batch is full. An empty batch means that there is nothing more to do. */
static inline int32_t wasmjob_batch_add(const void *data, size_t len) { return wasmjob_v1_batch_add(data, (int32_t)len); }
static inline int32_t wasmjob_batch_add_text(const char *text) { return wasmjob_batch_add(text, (size_t)wasmjob_strlen(text)); }

/* In wasmjob_process. An element without an outcome is done if process returns 0,
 * and has failed otherwise. */
static inline int32_t wasmjob_batch_count(void) { return wasmjob_v1_batch_count(); }
static inline int32_t wasmjob_batch_read(int32_t index, void *buf, size_t cap) {
  return wasmjob_closed(wasmjob_v1_batch_read(index, buf, wasmjob_room(cap)), buf, cap);
}
static inline int32_t wasmjob_batch_ack(int32_t index, int32_t outcome) { return wasmjob_v1_batch_ack(index, outcome); }

/* ---- A strategy: assigns each item from 0 to wasmjob_total() - 1 to one instance ---- */

static inline int32_t wasmjob_shard_instances(void) { return wasmjob_v1_shard_instance_count(); }
/* The id of an instance; they are in descending order. */
static inline int32_t wasmjob_shard_id(int32_t instance, char *buf, size_t cap) {
  return wasmjob_closed(wasmjob_v1_shard_instance_id(instance, buf, wasmjob_room(cap)), buf, cap);
}
/* A label of the instance's server. */
static inline int32_t wasmjob_shard_label(int32_t instance, const char *key, char *buf, size_t cap) {
  return wasmjob_closed(wasmjob_v1_shard_instance_label(instance, key, wasmjob_strlen(key), buf, wasmjob_room(cap)), buf, cap);
}
/* The instance that owns the item now; negative if none of these does. */
static inline int32_t wasmjob_shard_previous(int32_t item) { return wasmjob_v1_shard_prev(item); }
/* Assigns the item to the instance; WASMJOB_ERR_CONFLICT if it was assigned before. */
static inline int32_t wasmjob_shard_assign(int32_t item, int32_t instance) { return wasmjob_v1_shard_assign(item, instance); }

#ifdef __cplusplus
}
#endif

#endif
