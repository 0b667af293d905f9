/* wasmjob_fake.h - a host for tests of a job's logic with the machine's own
 * compiler. Include it in one file of the test, and compile all with
 * WASMJOB_NATIVE defined:
 *
 *   cc -DWASMJOB_NATIVE -Iabi/c -o test hello.c test.c && ./test
 *
 *   #include "wasmjob_fake.h"
 *   int main(void) {
 *     wasmjob_fake_reset();
 *     wasmjob_fake.text[WASMJOB_FIELD_SHARDING_PARAM] = "moon";
 *     int32_t code = wasmjob_fake_run(wasmjob_execute, WASMJOB_FAKE_RUN);
 *     assert(code == 0 && strcmp(wasmjob_fake.result, "hello, moon") == 0);
 *   }
 *
 * It works in one thread, has small limits, and does not validate modules: use
 * `wasmjobd exec` and `wasmjobd test` for that. */
#ifndef WASMJOB_FAKE_H
#define WASMJOB_FAKE_H

#include "wasmjob.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The phases in which a function may be called; in other phases it returns WASMJOB_ERR_WRONG_PHASE. */
enum { WASMJOB_FAKE_RUN = 1, WASMJOB_FAKE_FETCH = 2, WASMJOB_FAKE_PROCESS = 4, WASMJOB_FAKE_SHARD = 8 };

/* The result of wasmjob_fake_run if the module trapped. */
#define WASMJOB_FAKE_TRAPPED INT32_MIN

#define WASMJOB_FAKE_MANY 64
#define WASMJOB_FAKE_LONG 4096

struct wasmjob_fake_pair { const char *key, *value; };
struct wasmjob_fake_value { char key[260], data[WASMJOB_FAKE_LONG]; int32_t len; };

struct wasmjob_fake {
  /* The module's input. Lists of pairs end with a key that is NULL. */
  const char *text[11];   /* by id of the field; NULL: none */
  int64_t number[16];     /* by id of the field, less 100; INT64_MIN: not known now */
  const char *json;
  const struct wasmjob_fake_pair *config, *secrets;
  int64_t clock;          /* 0: not granted */
  int random;             /* whether granted: then all bytes are 7 */
  int state;              /* whether granted */
  int32_t stop;           /* why the run should stop */
  int32_t slept;          /* the result of sleeping */
  int32_t max_result;     /* 0: the size of the buffer */
  /* Answers a request with the status or a negative code; NULL: not granted. */
  int32_t (*http)(const char *request, size_t len);
  const struct wasmjob_fake_pair *http_headers;
  const char *http_body;
  int32_t instances;
  const char *instance_id[WASMJOB_FAKE_MANY];
  const struct wasmjob_fake_pair *instance_labels[WASMJOB_FAKE_MANY];
  int32_t previous[WASMJOB_FAKE_MANY]; /* by item, from 1; 0: none */

  /* The module's output. */
  char result[WASMJOB_FAKE_LONG + 1], reason[WASMJOB_FAKE_LONG + 1];
  int32_t result_len;     /* -1: none was set */
  int logs;               /* number of lines; only the first ones are kept */
  struct { int32_t level; char line[256]; } log[WASMJOB_FAKE_MANY];
  int64_t done, goal;     /* the last progress */
  int metrics;
  struct { char name[65]; double sum; } metric[WASMJOB_FAKE_MANY];
  int values;
  struct wasmjob_fake_value value[WASMJOB_FAKE_MANY];
  int batch;
  struct { char data[256]; int32_t len, ack; } element[WASMJOB_FAKE_MANY]; /* ack -1: no outcome */
  int32_t owner[WASMJOB_FAKE_MANY]; /* the assignment of a strategy; -1: none */

  int phase;
  int32_t body_read, answer; /* of the last request: bytes read, status */
  jmp_buf trap;
};

struct wasmjob_fake wasmjob_fake;

/* Resets everything: one item, first attempt, nothing granted. */
static inline void wasmjob_fake_reset(void) {
  memset(&wasmjob_fake, 0, sizeof wasmjob_fake);
  wasmjob_fake.text[WASMJOB_FIELD_JOB_NAME] = "job";
  wasmjob_fake.text[WASMJOB_FIELD_JOB_PARAM] = "";
  wasmjob_fake.number[WASMJOB_FIELD_SHARDING_TOTAL - 100] = 1;
  wasmjob_fake.number[WASMJOB_FIELD_ATTEMPT - 100] = 1;
  wasmjob_fake.number[WASMJOB_FIELD_HOST_MINOR - 100] = 2;
  for (int i = WASMJOB_FIELD_OUTCOME; i <= WASMJOB_FIELD_FIRE_SKIPPED; i++) wasmjob_fake.number[i - 100] = INT64_MIN;
  wasmjob_fake.json = "{}";
  wasmjob_fake.result_len = -1;
  for (int i = 0; i < WASMJOB_FAKE_MANY; i++) wasmjob_fake.owner[i] = -1;
}

/* Calls an entry. A fetch begins a new batch. Changes of the state are discarded
 * unless the entry returned 0. */
static inline int32_t wasmjob_fake_run(int32_t (*entry)(void), int phase) {
  static struct wasmjob_fake_value kept[WASMJOB_FAKE_MANY];
  static int values;
  memcpy(kept, wasmjob_fake.value, sizeof kept);
  values = wasmjob_fake.values;
  wasmjob_fake.phase = phase;
  if (phase == WASMJOB_FAKE_FETCH) wasmjob_fake.batch = 0;
  int32_t code = setjmp(wasmjob_fake.trap) ? WASMJOB_FAKE_TRAPPED : entry();
  if (code != WASMJOB_RESULT_OK) {
    memcpy(wasmjob_fake.value, kept, sizeof kept);
    wasmjob_fake.values = values;
  }
  return code;
}

/* The sum of a metric. */
static inline double wasmjob_fake_metric(const char *name) {
  for (int i = 0; i < wasmjob_fake.metrics; i++)
    if (strcmp(wasmjob_fake.metric[i].name, name) == 0) return wasmjob_fake.metric[i].sum;
  return 0;
}

__attribute__((noreturn)) void wasmjob_fake_trap(void) { longjmp(wasmjob_fake.trap, 1); }

/* Ends the run after a mistake that no valid module makes, with a message on stderr. */
static inline void wasmjob_fake_wrong(const char *what) {
  fprintf(stderr, "wasmjob_fake: %s\n", what);
  wasmjob_fake_trap();
}

/* Whether one of the phases runs. */
static inline int wasmjob_fake_in(int phases) { return (wasmjob_fake.phase & phases) != 0; }

#define WASMJOB_FAKE_JOB (WASMJOB_FAKE_RUN | WASMJOB_FAKE_FETCH | WASMJOB_FAKE_PROCESS)
#define WASMJOB_FAKE_ONLY(phases) \
  if (!wasmjob_fake_in(phases)) return WASMJOB_ERR_WRONG_PHASE

/* Answers a read as the host does: with the full length, and the value if it fits. */
static inline int32_t wasmjob_fake_give(const void *data, int32_t len, void *buf, int32_t cap) {
  if (len <= cap && len > 0) memcpy(buf, data, (size_t)len);
  return len;
}

/* The same for a text; NULL: there is none. */
static inline int32_t wasmjob_fake_text(const char *text, void *buf, int32_t cap) {
  return text ? wasmjob_fake_give(text, (int32_t)strlen(text), buf, cap) : WASMJOB_ERR_NOT_FOUND;
}

/* The value of a key, or NULL. */
static inline const char *wasmjob_fake_find(const struct wasmjob_fake_pair *all, const void *key, int32_t klen) {
  for (; all && all->key; all++)
    if (strlen(all->key) == (size_t)klen && memcmp(all->key, key, (size_t)klen) == 0) return all->value;
  return NULL;
}

int32_t wasmjob_v1_ctx_str(int32_t field, void *buf, int32_t cap) {
  if (field < 1 || field > 10) return WASMJOB_ERR_UNKNOWN_FIELD;
  return wasmjob_fake_text(wasmjob_fake.text[field], buf, cap);
}

int64_t wasmjob_v1_ctx_int(int32_t field) {
  return field < 100 || field > 115 ? INT64_MIN : wasmjob_fake.number[field - 100];
}

int32_t wasmjob_v1_ctx_json(void *buf, int32_t cap) {
  return wasmjob_fake_in(WASMJOB_FAKE_SHARD) ? WASMJOB_ERR_NOT_FOUND : wasmjob_fake_text(wasmjob_fake.json, buf, cap);
}

int32_t wasmjob_v1_config_get(const void *key, int32_t klen, void *buf, int32_t cap) {
  return wasmjob_fake_text(wasmjob_fake_find(wasmjob_fake.config, key, klen), buf, cap);
}

void wasmjob_v1_log(int32_t level, const void *msg, int32_t len) {
  if (level < WASMJOB_LEVEL_TRACE || level > WASMJOB_LEVEL_ERROR) wasmjob_fake_wrong("there is no such level");
  int i = wasmjob_fake.logs++;
  if (i >= WASMJOB_FAKE_MANY) return;
  wasmjob_fake.log[i].level = level;
  snprintf(wasmjob_fake.log[i].line, sizeof wasmjob_fake.log[i].line, "%.*s", (int)len, (const char *)msg);
}

int32_t wasmjob_v1_log_level(void) { return WASMJOB_LEVEL_TRACE; }

int32_t wasmjob_v1_result_set(const void *ptr, int32_t len) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_JOB);
  int32_t most = wasmjob_fake.max_result ? wasmjob_fake.max_result : WASMJOB_FAKE_LONG;
  if (len < 0 || len > most || len > WASMJOB_FAKE_LONG) return WASMJOB_ERR_LIMIT;
  wasmjob_fake.result_len = wasmjob_fake_give(ptr, len, wasmjob_fake.result, WASMJOB_FAKE_LONG);
  wasmjob_fake.result[len] = 0;
  return 0;
}

int32_t wasmjob_v1_error_set(const void *ptr, int32_t len) {
  if (len > WASMJOB_FAKE_LONG) len = WASMJOB_FAKE_LONG;
  wasmjob_fake_give(ptr, len, wasmjob_fake.reason, WASMJOB_FAKE_LONG);
  wasmjob_fake.reason[len] = 0;
  return 0;
}

int32_t wasmjob_v1_cancelled(void) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_JOB);
  return wasmjob_fake.stop;
}

void wasmjob_v1_progress(int64_t done, int64_t total) {
  if (!wasmjob_fake_in(WASMJOB_FAKE_JOB)) return;
  wasmjob_fake.done = done;
  wasmjob_fake.goal = total;
}

int32_t wasmjob_v1_metric_add(const void *name, int32_t nlen, double value) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_JOB);
  if (nlen < 1 || nlen > 64 || !isfinite(value)) return WASMJOB_ERR_INVALID;
  char key[65] = {0};
  memcpy(key, name, (size_t)nlen);
  if ((int32_t)strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") != nlen) return WASMJOB_ERR_INVALID;
  int i = 0;
  while (i < wasmjob_fake.metrics && strcmp(wasmjob_fake.metric[i].name, key) != 0) i++;
  if (i == WASMJOB_FAKE_MANY) return WASMJOB_ERR_LIMIT;
  if (i == wasmjob_fake.metrics) {
    memcpy(wasmjob_fake.metric[i].name, key, sizeof key);
    wasmjob_fake.metrics++;
  }
  wasmjob_fake.metric[i].sum += value;
  return 0;
}

int32_t wasmjob_v1_sleep_ms(int32_t ms) {
  (void)ms;
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_JOB);
  return wasmjob_fake.slept;
}

int64_t wasmjob_v1_now_unix_ms(void) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_JOB);
  return wasmjob_fake.clock ? wasmjob_fake.clock : WASMJOB_ERR_DENIED;
}

int32_t wasmjob_v1_random(void *buf, int32_t len) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_JOB);
  if (!wasmjob_fake.random) return WASMJOB_ERR_DENIED;
  if (len < 0 || len > 65536) return WASMJOB_ERR_LIMIT;
  memset(buf, 7, (size_t)len);
  return 0;
}

int32_t wasmjob_v1_batch_add(const void *ptr, int32_t len) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_FETCH);
  int i = wasmjob_fake.batch;
  if (i == WASMJOB_FAKE_MANY || len < 0 || len > (int32_t)sizeof wasmjob_fake.element[i].data) return WASMJOB_ERR_LIMIT;
  wasmjob_fake.element[i].len = wasmjob_fake_give(ptr, len, wasmjob_fake.element[i].data, len);
  wasmjob_fake.element[i].ack = -1;
  return wasmjob_fake.batch++;
}

int32_t wasmjob_v1_batch_count(void) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_PROCESS);
  return wasmjob_fake.batch;
}

int32_t wasmjob_v1_batch_read(int32_t index, void *buf, int32_t cap) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_PROCESS);
  if (index < 0 || index >= wasmjob_fake.batch) return WASMJOB_ERR_INVALID;
  return wasmjob_fake_give(wasmjob_fake.element[index].data, wasmjob_fake.element[index].len, buf, cap);
}

int32_t wasmjob_v1_batch_ack(int32_t index, int32_t outcome) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_PROCESS);
  if (outcome < WASMJOB_ACK_DONE || outcome > WASMJOB_ACK_RETRY) wasmjob_fake_wrong("there is no such outcome");
  if (index < 0 || index >= wasmjob_fake.batch) return WASMJOB_ERR_INVALID;
  wasmjob_fake.element[index].ack = outcome;
  return 0;
}

/* The index of a value of the state; if there is none of that key, the number of values. */
static inline int wasmjob_fake_place(const void *key, int32_t klen) {
  int i = 0;
  while (i < wasmjob_fake.values &&
         (strlen(wasmjob_fake.value[i].key) != (size_t)klen || memcmp(wasmjob_fake.value[i].key, key, (size_t)klen) != 0)) i++;
  return i;
}

int32_t wasmjob_v1_state_get(const void *key, int32_t klen, void *buf, int32_t cap) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_JOB);
  if (!wasmjob_fake.state) return WASMJOB_ERR_DENIED;
  int i = wasmjob_fake_place(key, klen);
  return i == wasmjob_fake.values ? WASMJOB_ERR_NOT_FOUND : wasmjob_fake_give(wasmjob_fake.value[i].data, wasmjob_fake.value[i].len, buf, cap);
}

int32_t wasmjob_v1_state_set(const void *key, int32_t klen, const void *val, int32_t vlen) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_JOB);
  if (!wasmjob_fake.state) return WASMJOB_ERR_DENIED;
  if (klen < 1 || klen > 256) return WASMJOB_ERR_INVALID;
  int i = wasmjob_fake_place(key, klen);
  if (i == WASMJOB_FAKE_MANY || vlen < 0 || vlen > WASMJOB_FAKE_LONG) return WASMJOB_ERR_LIMIT;
  if (i == wasmjob_fake.values) wasmjob_fake.values++;
  snprintf(wasmjob_fake.value[i].key, sizeof wasmjob_fake.value[i].key, "%.*s", (int)klen, (const char *)key);
  wasmjob_fake.value[i].len = wasmjob_fake_give(val, vlen, wasmjob_fake.value[i].data, vlen);
  return 0;
}

int32_t wasmjob_v1_state_delete(const void *key, int32_t klen) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_JOB);
  if (!wasmjob_fake.state) return WASMJOB_ERR_DENIED;
  int i = wasmjob_fake_place(key, klen);
  if (i == wasmjob_fake.values) return WASMJOB_ERR_NOT_FOUND;
  wasmjob_fake.value[i] = wasmjob_fake.value[--wasmjob_fake.values];
  return 0;
}

int32_t wasmjob_v1_secret_get(const void *name, int32_t nlen, void *buf, int32_t cap) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_JOB);
  const char *secret = wasmjob_fake_find(wasmjob_fake.secrets, name, nlen);
  return secret ? wasmjob_fake_text(secret, buf, cap) : WASMJOB_ERR_DENIED;
}

/* Only one response is open at a time; its handle is 0. */
int32_t wasmjob_v1_http_request(const void *req, int32_t len) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_JOB);
  if (!wasmjob_fake.http) return WASMJOB_ERR_DENIED;
  wasmjob_fake.body_read = 0;
  wasmjob_fake.answer = wasmjob_fake.http((const char *)req, (size_t)len);
  return wasmjob_fake.answer < 0 ? wasmjob_fake.answer : 0;
}

/* Whether the handle is that of an open response. */
static inline int wasmjob_fake_open(int32_t handle) { return handle == 0 && wasmjob_fake.answer > 0; }

int32_t wasmjob_v1_http_status(int32_t handle) { return wasmjob_fake_open(handle) ? wasmjob_fake.answer : WASMJOB_ERR_INVALID; }

int32_t wasmjob_v1_http_header(int32_t handle, const void *name, int32_t nlen, void *buf, int32_t cap) {
  if (!wasmjob_fake_open(handle)) return WASMJOB_ERR_INVALID;
  return wasmjob_fake_text(wasmjob_fake_find(wasmjob_fake.http_headers, name, nlen), buf, cap);
}

int32_t wasmjob_v1_http_read(int32_t handle, void *buf, int32_t cap) {
  if (!wasmjob_fake_open(handle)) return WASMJOB_ERR_INVALID;
  const char *rest = (wasmjob_fake.http_body ? wasmjob_fake.http_body : "") + wasmjob_fake.body_read;
  int32_t n = (int32_t)strlen(rest) < cap ? (int32_t)strlen(rest) : cap;
  wasmjob_fake.body_read += n;
  return wasmjob_fake_give(rest, n, buf, cap);
}

int32_t wasmjob_v1_http_close(int32_t handle) {
  if (!wasmjob_fake_open(handle)) return WASMJOB_ERR_INVALID;
  wasmjob_fake.answer = 0;
  return 0;
}

/* Whether there is such an instance, or such an item. */
static inline int wasmjob_fake_instance(int32_t i) { return i >= 0 && i < wasmjob_fake.instances; }
static inline int wasmjob_fake_item(int32_t i) {
  return i >= 0 && i < wasmjob_fake.number[WASMJOB_FIELD_SHARDING_TOTAL - 100] && i < WASMJOB_FAKE_MANY;
}

int32_t wasmjob_v1_shard_instance_count(void) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_SHARD);
  return wasmjob_fake.instances;
}

int32_t wasmjob_v1_shard_instance_id(int32_t instance, void *buf, int32_t cap) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_SHARD);
  return wasmjob_fake_instance(instance) ? wasmjob_fake_text(wasmjob_fake.instance_id[instance], buf, cap) : WASMJOB_ERR_INVALID;
}

int32_t wasmjob_v1_shard_instance_label(int32_t instance, const void *key, int32_t klen, void *buf, int32_t cap) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_SHARD);
  if (!wasmjob_fake_instance(instance)) return WASMJOB_ERR_INVALID;
  return wasmjob_fake_text(wasmjob_fake_find(wasmjob_fake.instance_labels[instance], key, klen), buf, cap);
}

int32_t wasmjob_v1_shard_prev(int32_t item) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_SHARD);
  if (!wasmjob_fake_item(item)) return WASMJOB_ERR_INVALID;
  return wasmjob_fake.previous[item] > 0 ? wasmjob_fake.previous[item] - 1 : WASMJOB_ERR_NOT_FOUND;
}

int32_t wasmjob_v1_shard_assign(int32_t item, int32_t instance) {
  WASMJOB_FAKE_ONLY(WASMJOB_FAKE_SHARD);
  if (!wasmjob_fake_item(item) || !wasmjob_fake_instance(instance)) return WASMJOB_ERR_INVALID;
  if (wasmjob_fake.owner[item] >= 0) return WASMJOB_ERR_CONFLICT;
  wasmjob_fake.owner[item] = instance;
  return 0;
}

#endif
