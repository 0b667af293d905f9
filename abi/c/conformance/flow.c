/* The cases of a dataflow job. */
#include "guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds elements: the prefix with each number. */
static int32_t add(const char *prefix, int from, int to) {
  char element[16];
  for (int i = from; i < to; i++) {
    snprintf(element, sizeof element, "%s%d", prefix, i);
    if (wasmjob_batch_add_text(element) < 0) return wasmjob_fail("the batch is full");
  }
  return WASMJOB_RESULT_OK;
}

/* Fills a batch for the case. In the case flow each batch is one smaller. */
int32_t wasmjob_fetch(void) {
  static int fetched; /* all fetches of a run are in one instance */
  int before = fetched++;
  if (guest_is("flow")) return add("e", 0, atoi(guest_argument()) - before);
  if (guest_is("offset")) {
    char text[24] = "0";
    wasmjob_state_get("offset", text, sizeof text);
    int from = atoi(text);
    return add("", from, from + 3 < 7 ? from + 3 : 7);
  }
  if (before > 0) return WASMJOB_RESULT_SKIPPED;
  return add("e", 0, guest_is("flowack") ? 3 : 1);
}

/* Elements are identified by content, because their index changes when they are passed again. */
static int32_t mark(int32_t count) {
  char element[16];
  for (int32_t i = 0; i < count; i++) {
    wasmjob_batch_read(i, element, sizeof element);
    int outcome = WASMJOB_ACK_RETRY;
    if (strcmp(element, "e0") == 0) outcome = WASMJOB_ACK_DONE;
    if (strcmp(element, "e1") == 0) outcome = WASMJOB_ACK_FAILED;
    wasmjob_batch_ack(i, outcome);
  }
  return WASMJOB_RESULT_OK;
}

/* Stores where the next batch begins: after the last element. */
static int32_t advance(int32_t last) {
  char element[24];
  if (wasmjob_batch_read(last, element, sizeof element) < 0) return wasmjob_fail("the batch is empty");
  snprintf(element, sizeof element, "%d", atoi(element) + 1);
  wasmjob_state_set_text("offset", element);
  return guest_answer(element);
}

/* The elements, with commas between them. */
static int32_t join(int32_t count) {
  size_t length = 0;
  for (int32_t i = 0; i < count; i++) length += (size_t)wasmjob_batch_read(i, NULL, 0) + 1;
  char *all = guest_room((int32_t)length), *end = all;
  for (int32_t i = 0; i < count; i++) {
    if (i > 0) *end++ = ',';
    end += wasmjob_batch_read(i, end, length + 1 - (size_t)(end - all));
  }
  *end = 0;
  wasmjob_metric("seen", count);
  return guest_answer(all);
}

/* Handles the batch in the way that the case names. */
int32_t wasmjob_process(void) {
  int32_t count = wasmjob_batch_count();
  if (guest_is("flowfail")) return wasmjob_fail("bad batch");
  if (guest_is("flowpanic")) {
    wasmjob_info("processing");
    wasmjob_panic("it broke");
  }
  if (guest_is("flowack")) return mark(count);
  if (guest_is("offset")) return advance(count - 1);
  if (guest_is("flow")) return join(count);
  return guest_no_case();
}
