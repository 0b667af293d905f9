/* Declarations shared by the files of the conformance guest. */
#ifndef GUEST_H
#define GUEST_H

#include "wasmjob.h"

/* The parameter of the job; guest_argument is the part after its first colon. */
const char *guest_param(void);
const char *guest_argument(void);
/* Whether the parameter, up to its first colon, equals name. */
int guest_is(const char *name);
/* A buffer for a value of that length and its closing zero byte. */
char *guest_room(int32_t length);

/* They set the result, and return the code of success. */
int32_t guest_answer(const char *text);
int32_t guest_answer_number(long long number);
int32_t guest_answer_error(int32_t code);
/* Fails a case that this guest does not have. */
int32_t guest_no_case(void);

#endif
