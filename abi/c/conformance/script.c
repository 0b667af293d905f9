/* The script of ../../conformance/GUEST.md. A script is an ordinary program and
 * does not need this SDK. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A variable of the environment; empty if it is not set. */
static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  if (strcmp(name, "context") == 0) {
    fputs(argv[argc - 1], stdout);
    return 0;
  }
  if (strcmp(name, "env") == 0) {
    printf("%s %s", variable("WASMJOB_JOB"), variable("WASMJOB_ITEM"));
    return 0;
  }
  if (strcmp(name, "fail") == 0) {
    fputs("bad luck\n", stderr);
    return 3;
  }
  fprintf(stderr, "there is no case %s\n", name);
  return 1;
}
