/* The models of threads that can be tested where this runs. */
#ifndef MODELS_H
#define MODELS_H

#include <stdio.h>
#include <string.h>

#include <tickwright.h>

#include "check.h"

/* Valgrind is detected by the library that it loads into the process. */
static inline int under_valgrind(void)
{
    char line[512];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL)
        found = strstr(line, "vgpreload") != NULL;
    if (maps != NULL)
        fclose(maps);
    return found;
}

/* Valgrind and the compilers' sanitizers take a switch of stacks for an error of the program,
 * unless the program reports each switch to them. */
static inline int stacks_may_switch(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0;
#else
    return !under_valgrind();
#endif
}

/* Starts a runtime with n workers. */
static inline int create_runtime(tw_runtime **runtime, tw_model model, size_t workers)
{
    tw_runtime_options options = TW_RUNTIME_OPTIONS_INIT;
    options.workers = workers;
    return tw_runtime_create(runtime, model, &options);
}

/* Runs a test in each model. */
static inline void in_each_model(const char *name, void (*test)(tw_runtime *, tw_model model))
{
    static const tw_model MODELS[] = { TW_MODEL_ONE_TO_ONE, TW_MODEL_MN };
    static const size_t WORKERS[] = { TW_DEFAULT, 2 };
    static int said;
    size_t i, models = sizeof MODELS / sizeof *MODELS;
    if (!stacks_may_switch()) {
        models--;
        if (!said++)
            printf("%s: without M:N, whose stacks these tools do not know\n", name);
    }
    for (i = 0; i < models; i++) {
        tw_runtime *threads = NULL;
        EQUAL(create_runtime(&threads, MODELS[i], WORKERS[i]), 0);
        CHECK(threads != NULL);
        test(threads, MODELS[i]);
        EQUAL(tw_runtime_destroy(threads), 0);
    }
}

#endif
