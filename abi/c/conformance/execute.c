/* The cases of a simple job. */
#include "guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char page[1 << 20]; /* bodies of answers */

/* Appends name=value of a text field, with - for a field that has none. */
static int append(char *text, size_t cap, int at, const char *name, int32_t (*read)(char *, size_t)) {
  char value[256];
  if (read(value, sizeof value) < 0) strcpy(value, "-");
  return at + snprintf(text + at, cap - (size_t)at, "%s=%s\n", name, value);
}

/* All facts of the run, one name=value in a line. */
static int32_t fields(void) {
  static char text[4096];
  const size_t cap = sizeof text;
  int at = 0;
  at = append(text, cap, at, "jobName", wasmjob_job_name);
  at = append(text, cap, at, "taskId", wasmjob_task_id);
  at = append(text, cap, at, "jobParam", wasmjob_job_param);
  at = append(text, cap, at, "itemParam", wasmjob_param);
  at = append(text, cap, at, "instance", wasmjob_instance_id);
  at = append(text, cap, at, "namespace", wasmjob_namespace);
  at = append(text, cap, at, "digest", wasmjob_module_digest);
  at = append(text, cap, at, "seed", wasmjob_seed);
  at = append(text, cap, at, "runId", wasmjob_run_id);
  snprintf(text + at, cap - (size_t)at,
           "total=%d\nitem=%d\nfired=%lld\ndeadline=%lld\nattempt=%d\nfailover=%d\nmisfire=%d\nhostMinor=%d\nstreaming=%d\n"
           "fence=%lld\nscheduled=%lld\nfetchCount=%d",
           (int)wasmjob_total(), (int)wasmjob_item(), (long long)wasmjob_fired(), (long long)wasmjob_deadline(), (int)wasmjob_attempt(),
           (int)wasmjob_failover(), (int)wasmjob_misfire(), (int)wasmjob_host_minor(), (int)wasmjob_streaming(),
           (long long)wasmjob_fence(), (long long)wasmjob_scheduled(), (int)wasmjob_fetch_count());
  return guest_answer(text);
}

static int32_t json(void) {
  int32_t n = wasmjob_json(NULL, 0);
  char *text = guest_room(n);
  wasmjob_json(text, (size_t)n + 1);
  return guest_answer(text);
}

static int32_t config(const char *key) {
  int32_t n = wasmjob_config(key, NULL, 0);
  if (n < 0) return guest_answer("-");
  char *text = guest_room(n);
  wasmjob_config(key, text, (size_t)n + 1);
  return guest_answer(text);
}

/* Sets a result of that size; the host may refuse it. */
static int32_t large(int32_t size) {
  char *text = guest_room(size);
  memset(text, 'x', (size_t)size);
  if (wasmjob_result(text, (size_t)size) == WASMJOB_ERR_LIMIT) return guest_answer("limit");
  return WASMJOB_RESULT_OK;
}

static int32_t logs(void) {
  wasmjob_trace("trace line");
  wasmjob_debug("debug line");
  wasmjob_info("info line");
  wasmjob_warn("warn line");
  wasmjob_error("error line");
  wasmjob_info("two\nlines");
  wasmjob_info("end");
  return WASMJOB_RESULT_OK;
}

/* Computes until the run should stop, and returns why. */
static int32_t stop(void) {
  int32_t reason;
  while ((reason = wasmjob_cancelled()) == WASMJOB_STOP_NONE) {}
  return guest_answer_number(reason);
}

static int32_t progress(void) {
  wasmjob_progress(3, 4);
  return WASMJOB_RESULT_OK;
}

static int32_t metric(void) {
  wasmjob_metric("rows", 2.5);
  wasmjob_metric("rows", 2.5);
  return WASMJOB_RESULT_OK;
}

static int32_t clock_now(void) {
  int64_t now = wasmjob_now();
  return now < 0 ? guest_answer_error((int32_t)now) : guest_answer_number(now);
}

static int32_t random_hex(void) {
  unsigned char bytes[16];
  char hex[33];
  int32_t code = wasmjob_random(bytes, sizeof bytes);
  if (code < 0) return guest_answer_error(code);
  for (int i = 0; i < 16; i++) snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
  return guest_answer(hex);
}

/* Adds 1 to a number in the state. */
static int32_t count(void) {
  char text[24] = "0";
  int32_t n = wasmjob_state_get("n", text, sizeof text);
  if (n == WASMJOB_ERR_DENIED) return guest_answer_error(n);
  snprintf(text, sizeof text, "%lld", atoll(text) + 1);
  wasmjob_state_set_text("n", text);
  return guest_answer(text);
}

static int32_t secret(const char *name) {
  char text[256];
  int32_t n = wasmjob_secret(name, text, sizeof text);
  return n < 0 ? guest_answer_error(n) : guest_answer(text);
}

/* The status, then for a POST the header X-Echo, then the body. */
static int32_t request(const struct wasmjob_request *r, int echo) {
  static char answer[sizeof page + 300];
  char header[256] = "-";
  int32_t handle = wasmjob_http(r, page, sizeof page);
  if (handle < 0) return guest_answer_error(handle);
  int32_t status = wasmjob_http_status(handle);
  if (echo && wasmjob_http_header(handle, "X-Echo", header, sizeof header) < 0) strcpy(header, "-");
  int32_t n = wasmjob_http_body(handle, page, sizeof page);
  if (n < 0) return guest_answer_error(n);
  snprintf(answer, sizeof answer, "%d %s%s%s", (int)status, echo ? header : "", echo ? " " : "", page);
  return guest_answer(answer);
}

/* Plays the case that the parameter names: name or name:argument. */
int32_t wasmjob_execute(void) {
  const char *argument = guest_argument();
  if (guest_is("ok") || guest_is("veto") || guest_is("listen")) return WASMJOB_RESULT_OK;
  if (guest_is("fail")) return wasmjob_fail("it failed");
  if (guest_is("retry")) return wasmjob_retry("again later");
  if (guest_is("skip")) return WASMJOB_RESULT_SKIPPED;
  if (guest_is("code")) return wasmjob_fail_code(142, "own code");
  if (guest_is("panic")) wasmjob_panic("it broke");
  if (guest_is("fields")) return fields();
  if (guest_is("json")) return json();
  if (guest_is("config")) return config(argument);
  if (guest_is("utf8")) return guest_answer(argument);
  if (guest_is("empty")) return guest_answer("");
  if (guest_is("large")) return large((int32_t)atoi(argument));
  if (guest_is("log")) return logs();
  if (guest_is("stop")) return stop();
  if (guest_is("nap")) return guest_answer(wasmjob_sleep((int32_t)atoi(argument)) == WASMJOB_ERR_CANCELLED ? "stopped" : "slept");
  if (guest_is("progress")) return progress();
  if (guest_is("metric")) return metric();
  if (guest_is("badmetric")) return guest_answer_error(wasmjob_metric("no good", 1));
  if (guest_is("clock")) return clock_now();
  if (guest_is("random")) return random_hex();
  if (guest_is("count")) return count();
  if (guest_is("countfail")) {
    count();
    return wasmjob_fail("not kept");
  }
  if (guest_is("forget")) return guest_answer(wasmjob_state_delete("n") == WASMJOB_ERR_NOT_FOUND ? "none" : "gone");
  if (guest_is("secret")) return secret(argument);
  if (guest_is("get")) return request(&(struct wasmjob_request){.method = "GET", .url = argument}, 0);
  if (guest_is("post"))
    return request(&(struct wasmjob_request){.method = "POST", .url = argument, .headers = "X-Test: yes\n", .body = "ping", .body_len = 4}, 1);
  return guest_no_case();
}
