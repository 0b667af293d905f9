/* Built without a C library: one job that uses nearly everything in the header. */
#include "wasmjob.h"

WASMJOB_MODULE

int32_t wasmjob_execute(void) {
  char buf[256];
  if (wasmjob_cancelled()) return wasmjob_retry("later");
  wasmjob_assert(wasmjob_total() > wasmjob_item());
  if (wasmjob_state_get("url", buf, sizeof buf) < 0) return wasmjob_skip("no URL");
  char request[512];
  const struct wasmjob_request r = {.method = "GET", .url = buf};
  int32_t answer = wasmjob_http(&r, request, sizeof request);
  if (answer < 0) return wasmjob_fail(wasmjob_error_name(answer));
  if (wasmjob_http_body(answer, buf, sizeof buf) < 0) return wasmjob_fail("body");
  wasmjob_info(buf);
  wasmjob_result_text(buf);
  return WASMJOB_RESULT_OK;
}
