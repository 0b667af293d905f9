/* The smallest job in C: it logs a greeting that names its item, and returns it
 * as the result. */
#include "wasmjob.h"

#include <stdio.h>

WASMJOB_MODULE

int32_t wasmjob_execute(void) {
  char whom[64], text[160];
  int32_t n = wasmjob_param(whom, sizeof whom);
  if (n >= (int32_t)sizeof whom) return wasmjob_fail("the parameter of the item is too long");
  if (n < 0) snprintf(whom, sizeof whom, "world");
  snprintf(text, sizeof text, "hello, %s, from item %d of %d", whom, (int)wasmjob_item(), (int)wasmjob_total());
  wasmjob_info(text);
  wasmjob_result_text(text);
  return WASMJOB_RESULT_OK;
}
