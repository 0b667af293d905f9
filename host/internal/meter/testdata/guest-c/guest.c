/* Work of several kinds for the benchmarks of the meter. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(name)))

EXPORT("loop") uint32_t loop(uint32_t n) {
  uint32_t h = 2166136261u;
  for (uint32_t i = 0; i < n; i++) {
    h = (h ^ (i & 255)) * 16777619u;
    if (h & 1024) h += i;
  }
  return h;
}

EXPORT("fib") uint32_t fib(uint32_t n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

struct text {
  const unsigned char *all;
  size_t len, at;
  uint64_t sum;
};

static unsigned char next(struct text *t) {
  while (t->at < t->len && t->all[t->at] <= ' ') t->at++;
  return t->all[t->at++];
}

static void string(struct text *t) {
  while (t->all[t->at] != '"') {
    if (t->all[t->at] == '\\') t->at++;
    t->sum = t->sum * 31 + t->all[t->at];
    t->at++;
  }
  t->at++;
}

static void number(struct text *t) {
  uint64_t n = 0;
  t->at--;
  while (t->all[t->at] >= '0' && t->all[t->at] <= '9') n = n * 10 + (uint64_t)(t->all[t->at++] - '0');
  t->sum += n;
}

static void value(struct text *t) {
  switch (next(t)) {
  case '{':
    do {
      next(t);
      string(t);
      next(t);
      value(t);
    } while (next(t) != '}');
    break;
  case '[':
    do value(t);
    while (next(t) != ']');
    break;
  case '"':
    string(t);
    break;
  default:
    number(t);
  }
}

EXPORT("json") uint32_t json(uint32_t n) {
  static char all[8192];
  size_t len = (size_t)sprintf(all, "{\"orders\": [");
  for (int i = 0; i < 20; i++) {
    len += (size_t)sprintf(all + len,
                           "%s{\"id\": %d, \"name\": \"order \\\"%d\\\"\", \"cents\": %d, \"tags\": [\"new\", \"paid\"], "
                           "\"ship\": {\"city\": \"Ulm\", \"zip\": 89073}}",
                           i ? ", " : "", i, i, i * 7919);
  }
  len += (size_t)sprintf(all + len, "]}");
  uint64_t sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    struct text t = {(const unsigned char *)all, len, 0, sum};
    value(&t);
    sum = t.sum;
  }
  return (uint32_t)sum;
}

EXPORT("bytes") uint32_t bytes(uint32_t n) {
  static unsigned char from[4096], to[4096];
  uint32_t h = 0;
  memset(from, 0, sizeof from);
  for (uint32_t i = 0; i < n; i++) {
    memcpy(to, from, 1 + i % 64);
    memset(from, 0, i % 512);
    from[i % 4096] = (unsigned char)i;
    h += to[i % 64];
  }
  return h;
}
