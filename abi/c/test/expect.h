/* Checks for tests in C: they count passes and failures, and print each failure. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>
#include <string.h>

static int expected, missed;

#define EXPECT(holds) \
  do { \
    expected++; \
    if (!(holds)) { \
      missed++; \
      printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #holds); \
    } \
  } while (0)

#define EXPECT_TEXT(got, want) \
  do { \
    expected++; \
    if (strcmp((got), (want)) != 0) { \
      missed++; \
      printf("%s:%d: %s is \"%s\", wanted \"%s\"\n", __FILE__, __LINE__, #got, (got), (want)); \
    } \
  } while (0)

#define EXPECT_END() (printf("%d passed, %d failed\n", expected - missed, missed), missed != 0 || expected == 0)

#endif
