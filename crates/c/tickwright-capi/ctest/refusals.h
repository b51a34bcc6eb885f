/* The refusals that a test provokes: a function, and a code that its comment lists. The test fails
 * if one of them has not come by its end. tests/header.rs compares the rows of all tests with the
 * comments of the headers: each function that may return -ENOMEM, -EMFILE or -EAGAIN has a row.
 *
 * A test defines REFUSALS as its rows, and then includes this file before any other. */
#ifndef TEST_REFUSALS_H
#define TEST_REFUSALS_H

#ifndef _GNU_SOURCE /* C++ defines it */
#define _GNU_SOURCE
#endif
#include <sys/mman.h>

#include "supply.h"

struct refusal {
    const char *function;
    int code;
};

static const struct refusal EXPECTED[] = { REFUSALS };
enum { EXPECTED_COUNT = sizeof EXPECTED / sizeof *EXPECTED };

/* How often each refusal has come, in memory that forked children share. */
static int *came;

__attribute__((constructor)) static void share_the_counts(void)
{
    void *memory = mmap(NULL, sizeof *came * EXPECTED_COUNT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    came = (int *)memory;
}

/* Counts the result of a function if it is a refusal, and returns it. */
static int noted(const char *function, ptrdiff_t result)
{
    int i;
    for (i = 0; i < EXPECTED_COUNT; i++)
        if (result == -EXPECTED[i].code && strcmp(EXPECTED[i].function, function) == 0) {
            COUNT_UP(came[i]);
            return (int)result;
        }
    if (result == -ENOMEM || result == -EMFILE || result == -EAGAIN) {
        fprintf(stderr, "%s returned %d, and REFUSALS has no such row\n", function, (int)result);
        exit(1);
    }
    return (int)result;
}

/* Checks that every refusal has come, except those of functions whose names begin with `but`. */
static void each_refusal_came(const char *but)
{
    int i;
    for (i = 0; i < EXPECTED_COUNT; i++)
        if (READ(came[i]) == 0 && (but == NULL || strncmp(EXPECTED[i].function, but, strlen(but)) != 0)) {
            fprintf(stderr, "%s has not returned %d\n", EXPECTED[i].function, -EXPECTED[i].code);
            exit(1);
        }
}

#endif
