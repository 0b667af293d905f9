/* The guest of ../../conformance/GUEST.md, which describes each case. */
#include "guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

WASMJOB_MODULE

/* Weak, so that a native test can replace it. An instance reads the parameter once. */
__attribute__((weak)) const char *guest_param(void) {
  static char *param;
  if (param == NULL) {
    int32_t n = wasmjob_job_param(NULL, 0);
    param = guest_room(n);
    wasmjob_job_param(param, (size_t)n + 1);
  }
  return param;
}

const char *guest_argument(void) {
  const char *colon = strchr(guest_param(), ':');
  return colon ? colon + 1 : "";
}

int guest_is(const char *name) {
  size_t n = strlen(name);
  return strncmp(guest_param(), name, n) == 0 && (guest_param()[n] == 0 || guest_param()[n] == ':');
}

char *guest_room(int32_t length) {
  wasmjob_assert(length >= 0);
  char *room = malloc((size_t)length + 1);
  wasmjob_assert(room != NULL);
  return room;
}

int32_t guest_answer(const char *text) {
  wasmjob_result_text(text);
  return WASMJOB_RESULT_OK;
}

int32_t guest_answer_number(long long number) {
  char text[24];
  snprintf(text, sizeof text, "%lld", number);
  return guest_answer(text);
}

int32_t guest_answer_error(int32_t code) { return guest_answer(wasmjob_error_name(code)); }

int32_t guest_no_case(void) { return wasmjob_fail("there is no such case"); }

/* Listeners. */

int32_t wasmjob_before(void) {
  wasmjob_info("before");
  return guest_is("veto") ? wasmjob_skip("vetoed") : WASMJOB_RESULT_OK;
}

/* Logs a line and succeeds. */
static int32_t says(const char *name) {
  wasmjob_info(name);
  return WASMJOB_RESULT_OK;
}

int32_t wasmjob_after(void) {
  char line[200], reason[100] = "";
  wasmjob_info("after");
  int32_t n = wasmjob_ended_reason(reason, sizeof reason);
  snprintf(line, sizeof line, n < 0 ? "ended %d" : "ended %d %s", (int)wasmjob_ended(), reason);
  return says(line);
}
int32_t wasmjob_started(void) { return says("started"); }
int32_t wasmjob_completed(void) {
  char line[60] = "fire unknown";
  wasmjob_info("completed");
  if (wasmjob_fire_succeeded() >= 0)
    snprintf(line, sizeof line, "fire %d %d %d", (int)wasmjob_fire_succeeded(), (int)wasmjob_fire_failed(), (int)wasmjob_fire_skipped());
  return says(line);
}
