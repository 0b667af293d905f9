/* The cases of a strategy. */
#include "guest.h"

#include <stdlib.h>

/* The instance whose server has the largest weight; without the label it is 1. */
static int32_t heaviest(int32_t instances) {
  int32_t best = 0;
  double most = 0;
  for (int32_t i = 0; i < instances; i++) {
    char text[32];
    double weight = wasmjob_shard_label(i, "weight", text, sizeof text) < 0 ? 1 : strtod(text, NULL);
    if (i > 0 && weight <= most) continue;
    best = i;
    most = weight;
  }
  return best;
}

/* Assigns the items in the way that the case names. */
int32_t wasmjob_shard(void) {
  int32_t total = wasmjob_total(), instances = wasmjob_shard_instances();
  if (guest_is("panic")) wasmjob_panic("it broke");
  if (guest_is("twice")) {
    wasmjob_shard_assign(0, 0);
    return wasmjob_shard_assign(0, 0) == WASMJOB_ERR_CONFLICT ? wasmjob_fail("conflict") : WASMJOB_RESULT_OK;
  }
  int32_t heavy = guest_is("heaviest") ? heaviest(instances) : 0;
  for (int32_t item = 0; item < total; item++) {
    int32_t instance = 0;
    if (guest_is("modulo")) instance = item % instances;
    else if (guest_is("heaviest")) instance = heavy;
    else if (guest_is("sticky")) instance = wasmjob_shard_previous(item);
    else if (!guest_is("partial")) return guest_no_case();
    else if (item == total - 1) break;
    wasmjob_shard_assign(item, instance < 0 ? 0 : instance);
  }
  return WASMJOB_RESULT_OK;
}
