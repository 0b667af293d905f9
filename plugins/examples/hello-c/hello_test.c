#include "wasmjob_fake.h"

#undef NDEBUG
#include <assert.h>

int main(void) {
  wasmjob_fake_reset();
  wasmjob_fake.number[WASMJOB_FIELD_SHARDING_ITEM - 100] = 1;
  wasmjob_fake.number[WASMJOB_FIELD_SHARDING_TOTAL - 100] = 3;
  assert(wasmjob_fake_run(wasmjob_execute, WASMJOB_FAKE_RUN) == WASMJOB_RESULT_OK);
  assert(strcmp(wasmjob_fake.result, "hello, world, from item 1 of 3") == 0);

  wasmjob_fake.text[WASMJOB_FIELD_SHARDING_PARAM] = "moon";
  assert(wasmjob_fake_run(wasmjob_execute, WASMJOB_FAKE_RUN) == WASMJOB_RESULT_OK);
  assert(strcmp(wasmjob_fake.result, "hello, moon, from item 1 of 3") == 0);
  assert(wasmjob_fake.logs == 2 && strcmp(wasmjob_fake.log[1].line, wasmjob_fake.result) == 0);
  puts("2 passed, 0 failed");
  return 0;
}
