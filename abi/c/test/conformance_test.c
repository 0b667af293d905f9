/* Runs the conformance guest on the fake host, which tests the SDK and the fake
 * host against each other. The authoritative test is abi/conformance. */
#include "wasmjob_fake.h"

#include "expect.h"

#define fake wasmjob_fake

/* The guest reads the parameter once per instance; here all cases share one. */
static const char *param = "";
const char *guest_param(void) { return param; }

static int32_t execute(const char *p) {
  param = p;
  return wasmjob_fake_run(wasmjob_execute, WASMJOB_FAKE_RUN);
}

#define RESULT(p, want) \
  do { \
    execute(p); \
    EXPECT_TEXT(fake.result, want); \
  } while (0)

static void fresh(void) {
  wasmjob_fake_reset();
  fake.text[WASMJOB_FIELD_JOB_NAME] = "conformance";
}

static void outcomes(void) {
  fresh();
  EXPECT(execute("ok") == WASMJOB_RESULT_OK);
  EXPECT(execute("fail") == WASMJOB_RESULT_FAILED);
  EXPECT_TEXT(fake.reason, "it failed");
  EXPECT(execute("retry") == WASMJOB_RESULT_RETRYABLE);
  EXPECT_TEXT(fake.reason, "again later");
  EXPECT(execute("skip") == WASMJOB_RESULT_SKIPPED);
  EXPECT(execute("code") == 142);
  EXPECT(execute("panic") == WASMJOB_FAKE_TRAPPED);
  EXPECT_TEXT(fake.reason, "it broke");
}

static void ends(void) {
  fresh();
  wasmjob_fake_run(wasmjob_after, WASMJOB_FAKE_RUN);
  EXPECT(wasmjob_ended() < 0);
  fake.number[WASMJOB_FIELD_OUTCOME - 100] = 142;
  fake.text[WASMJOB_FIELD_REASON] = "own code";
  wasmjob_fake_run(wasmjob_after, WASMJOB_FAKE_RUN);
  EXPECT_TEXT(fake.log[3].line, "ended 142 own code");
  wasmjob_fake_run(wasmjob_completed, WASMJOB_FAKE_RUN);
  EXPECT_TEXT(fake.log[5].line, "fire unknown");
  fake.number[WASMJOB_FIELD_FIRE_SUCCEEDED - 100] = 5;
  fake.number[WASMJOB_FIELD_FIRE_FAILED - 100] = 1;
  fake.number[WASMJOB_FIELD_FIRE_SKIPPED - 100] = 2;
  wasmjob_fake_run(wasmjob_completed, WASMJOB_FAKE_RUN);
  EXPECT_TEXT(fake.log[7].line, "fire 5 1 2");
}

static void values(void) {
  const struct wasmjob_fake_pair config[] = {{"key", "value"}, {"blank", ""}, {NULL, NULL}};
  const struct wasmjob_fake_pair secrets[] = {{"token", "s3cret"}, {NULL, NULL}};
  fresh();
  fake.config = config;
  fake.secrets = secrets;
  fake.json = "{\"jobName\":\"x\"}";
  RESULT("json", "{\"jobName\":\"x\"}");
  RESULT("config:key", "value");
  RESULT("config:blank", "");
  RESULT("config:none", "-");
  RESULT("utf8:žluťoučký", "žluťoučký");
  execute("empty");
  EXPECT(fake.result_len == 0);
  RESULT("large:5000", "limit");
  RESULT("secret:token", "s3cret");
  RESULT("secret:other", "denied");
  RESULT("clock", "denied");
  fake.clock = 1711111111111;
  RESULT("clock", "1711111111111");
  RESULT("random", "denied");
  fake.random = 1;
  RESULT("random", "07070707070707070707070707070707");
  RESULT("nap:5", "slept");
  fake.slept = WASMJOB_ERR_CANCELLED;
  RESULT("nap:5", "stopped");
  fake.stop = WASMJOB_STOP_RESHARDING;
  RESULT("stop", "4");
  fake.number[WASMJOB_FIELD_FENCE - 100] = (1LL << 53) + 1;
  fake.text[WASMJOB_FIELD_SHARDING_PARAM] = NULL;
  execute("fields");
  EXPECT(strstr(fake.result, "jobName=conformance\n") && strstr(fake.result, "itemParam=-\n") && strstr(fake.result, "\nfence=9007199254740993\n"));
}

static void told(void) {
  fresh();
  execute("log");
  EXPECT(fake.logs == 7 && fake.log[4].level == WASMJOB_LEVEL_ERROR);
  EXPECT_TEXT(fake.log[5].line, "two\nlines");
  execute("metric");
  EXPECT(wasmjob_fake_metric("rows") == 5);
  RESULT("badmetric", "invalid");
  execute("progress");
  EXPECT(fake.done == 3 && fake.goal == 4);
}

static void state(void) {
  fresh();
  RESULT("count", "denied");
  fake.state = 1;
  RESULT("count", "1");
  EXPECT(execute("countfail") == WASMJOB_RESULT_FAILED);
  RESULT("count", "2");
  RESULT("forget", "gone");
  RESULT("forget", "none");
}

static char sent[512];

static int32_t answer(const char *request, size_t len) {
  snprintf(sent, sizeof sent, "%.*s", (int)len, request);
  return 201;
}

static int32_t broken(const char *request, size_t len) {
  (void)request, (void)len;
  return WASMJOB_ERR_IO;
}

static void http(void) {
  const struct wasmjob_fake_pair headers[] = {{"X-Echo", "yes"}, {NULL, NULL}};
  char small[8];
  fresh();
  RESULT("get:https://example.org/a", "denied");
  fake.http = broken;
  RESULT("get:https://example.org/a", "io");
  fake.http = answer;
  RESULT("get:https://example.org/a", "201 ");
  EXPECT_TEXT(sent, "GET https://example.org/a\n\n");
  RESULT("get:https://example.org/a\nHost: evil", "invalid");
  RESULT("post:https://example.org/a", "201 - ");
  fake.http_headers = headers;
  fake.http_body = "pong";
  RESULT("post:https://example.org/a", "201 yes pong");
  EXPECT_TEXT(sent, "POST https://example.org/a\nX-Test: yes\n\nping");

  const struct wasmjob_request r = {.method = "GET", .url = "x"};
  EXPECT(wasmjob_http(&r, small, 6) == WASMJOB_ERR_LIMIT);
  EXPECT(wasmjob_http(&r, small, 7) == 0);
  EXPECT(wasmjob_http_body(0, small, 4) == WASMJOB_ERR_LIMIT);
  EXPECT_TEXT(small, "");
  EXPECT(wasmjob_http(&r, small, 8) == 0 && wasmjob_http_body(0, small, 5) == 4);
  EXPECT_TEXT(small, "pong");
}

static int32_t process(const char *p) {
  param = p;
  return wasmjob_fake_run(wasmjob_process, WASMJOB_FAKE_PROCESS);
}

static int32_t fetch(const char *p) {
  param = p;
  return wasmjob_fake_run(wasmjob_fetch, WASMJOB_FAKE_FETCH);
}

static void flow(void) {
  fresh();
  EXPECT(fetch("flow:3") == 0 && fake.batch == 3);
  EXPECT(process("flow:3") == 0 && wasmjob_fake_metric("seen") == 3);
  EXPECT_TEXT(fake.result, "e0,e1,e2");
  EXPECT(fetch("flow:3") == 0 && fake.batch == 2); /* one less */
  EXPECT(process("flowfail") == WASMJOB_RESULT_FAILED);
  EXPECT(process("flowpanic") == WASMJOB_FAKE_TRAPPED);
  EXPECT(process("flowack") == 0 && fake.element[0].ack == WASMJOB_ACK_DONE && fake.element[1].ack == WASMJOB_ACK_FAILED);
  fake.state = 1;
  for (int rounds = 0; rounds < 3; rounds++) EXPECT(fetch("offset") == 0 && process("offset") == 0);
  EXPECT_TEXT(fake.result, "7");
  EXPECT(fetch("offset") == 0 && fake.batch == 0);
  EXPECT(wasmjob_batch_count() == WASMJOB_ERR_WRONG_PHASE);
}

static int32_t shard(const char *p) {
  for (int i = 0; i < WASMJOB_FAKE_MANY; i++) fake.owner[i] = -1;
  param = p;
  return wasmjob_fake_run(wasmjob_shard, WASMJOB_FAKE_SHARD);
}

static void deal(void) {
  const struct wasmjob_fake_pair heavy[] = {{"weight", "10"}, {NULL, NULL}};
  fresh();
  fake.number[WASMJOB_FIELD_SHARDING_TOTAL - 100] = 3;
  fake.instances = 2;
  fake.instance_labels[1] = heavy;
  EXPECT(shard("modulo") == 0 && fake.owner[0] == 0 && fake.owner[1] == 1 && fake.owner[2] == 0);
  EXPECT(shard("heaviest") == 0 && fake.owner[0] == 1 && fake.owner[2] == 1);
  fake.previous[2] = 2;
  EXPECT(shard("sticky") == 0 && fake.owner[0] == 0 && fake.owner[2] == 1);
  EXPECT(shard("partial") == 0 && fake.owner[1] == 0 && fake.owner[2] == -1);
  EXPECT(shard("twice") == WASMJOB_RESULT_FAILED);
  EXPECT_TEXT(fake.reason, "conflict");
}

/* The rule of all reads. */
static void reads(void) {
  char buf[6];
  fresh();
  fake.text[WASMJOB_FIELD_JOB_NAME] = "12345";
  EXPECT(wasmjob_job_name(NULL, 0) == 5);
  EXPECT(wasmjob_job_name(buf, 6) == 5);
  EXPECT_TEXT(buf, "12345");
  EXPECT(wasmjob_job_name(buf, 5) == 5);
  EXPECT_TEXT(buf, "");
  strcpy(buf, "left");
  EXPECT(wasmjob_param(buf, 6) == WASMJOB_ERR_NOT_FOUND);
  EXPECT_TEXT(buf, "");
  EXPECT_TEXT(wasmjob_error_name(WASMJOB_ERR_WRONG_PHASE), "wrong phase");
}

int main(void) {
  outcomes();
  ends();
  values();
  told();
  state();
  http();
  flow();
  deal();
  reads();
  return EXPECT_END();
}
