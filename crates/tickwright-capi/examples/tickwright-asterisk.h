/* A sketch: the names of Asterisk's scheduler (its public header asterisk/sched.h), on ours. A program that was written against those compiles with this in place
 * of that header. Needs GCC or Clang.
 *
 * What is different:
 *
 *   a delay below 0      fails with -1, and is no huge delay
 *   early                never; there, a callback may run 1 ms early
 *   a step of the clock  moves nothing; there, all timers follow the time of day
 *   ast_sched_wait       rounds up to ms, so that a loop does not turn round in vain; there, down
 *   ast_sched_del        of a callback that runs on another thread waits, and answers 0 if it was kept from running again, and -1 if it had said it was done:
 *                        so 0 means that the caller gives back what the timer held, and -1 that the callback did. There it is always -1 then.
 *   an id                is issued again only after some 2^31 others, so one that was kept too long finds nothing, not somebody else's timer; it is looked up
 *                        in O(1)
 *   a variable callback  that answers less than 0 is done; there, it is due again at once
 *   clean_by_callback    calls the clean-up function without a lock, and skips nothing
 *   NULL for a context   is answered with -1
 */
#ifndef TICKWRIGHT_ASTERISK_H
#define TICKWRIGHT_ASTERISK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tickwright.h>

#define ast_sched_context tw_sched

typedef int (*ast_sched_cb)(const void *data);
#define AST_SCHED_CB(callback) ((ast_sched_cb)(callback))

/* The token of a timer is its callback. */
static inline const void *tw_ast_token(ast_sched_cb callback)
{
    const void *token;
    memcpy(&token, &callback, sizeof token);
    return token;
}

static inline int64_t tw_ast_call(void *data, const tw_firing *firing)
{
    ast_sched_cb callback;
    memcpy(&callback, &firing->token, sizeof callback);
    return callback(data);
}

/* What the ast_sched_clean_by_callback of this thread cleans up with, for all files that include this. */
__attribute__((weak)) _Thread_local ast_sched_cb tw_ast_cleaning;

static inline void tw_ast_clean(void *data)
{
    ast_sched_cb cleaning = tw_ast_cleaning;
    if (cleaning != NULL) {
        tw_ast_cleaning = NULL; /* it may cancel others */
        cleaning(data);
        tw_ast_cleaning = cleaning;
    }
}

static inline struct ast_sched_context *ast_sched_context_create(void)
{
    tw_sched *con = NULL;
    tw_sched_create(&con, TW_FAMILY_HEAP4, TW_CLOCK_MONOTONIC, 0, 0);
    return con;
}

static inline void ast_sched_context_destroy(struct ast_sched_context *con)
{
    tw_sched_destroy(con);
}

static inline int ast_sched_start_thread(struct ast_sched_context *con)
{
    return tw_sched_start_thread(con, "scheduler") == 0 ? 0 : -1;
}

static inline int tw_ast_place(struct ast_sched_context *con, int old, int when, ast_sched_cb callback, const void *data, int variable,
                               const char *name, const char *file, int line)
{
    tw_job job;
    int id;
    if (callback == NULL)
        return -1;
    memset(&job, 0, sizeof job);
    job.call = tw_ast_call;
    job.cleanup = tw_ast_clean;
    job.data = (void *)data;
    job.token = tw_ast_token(callback);
    job.flags = variable ? TW_JOB_VARIABLE : 0;
    job.timing.when = (int64_t)when * 1000000;
    id = tw_sched_add_job_from(con, &job, old > 0 ? (uint64_t)old : 0, NULL, NULL, name, file, line);
    return id > 0 ? id : -1;
}

#define ast_sched_add(con, when, callback, data) \
    tw_ast_place(con, -1, when, callback, data, 0, #callback, __FILE__, __LINE__)
#define ast_sched_add_variable(con, when, callback, data, variable) \
    tw_ast_place(con, -1, when, callback, data, variable, #callback, __FILE__, __LINE__)
#define ast_sched_replace(old_id, con, when, callback, data) \
    tw_ast_place(con, old_id, when, callback, data, 0, #callback, __FILE__, __LINE__)
#define ast_sched_replace_variable(old_id, con, when, callback, data, variable) \
    tw_ast_place(con, old_id, when, callback, data, variable, #callback, __FILE__, __LINE__)

/* 0: it will not run any more; -1: there is no such timer, or it is the caller; -2: it ran, and had said that it was done. */
static inline int ast_sched_del_nonrunning(struct ast_sched_context *con, int id)
{
    int found = id < 0 ? 0 : tw_sched_cancel_sync(con, (uint64_t)id);
    return found == TW_CANCEL_FINISHED ? -2 : found < 0 ? -1 : 0;
}

static inline int ast_sched_del(struct ast_sched_context *con, int id)
{
    return ast_sched_del_nonrunning(con, id) == 0 ? 0 : -1;
}

#define AST_SCHED_DEL(con, id) \
    ({ \
        int tw_ast_result = (id) > -1 ? ast_sched_del(con, id) : -1; \
        (id) = -1; \
        tw_ast_result; \
    })

#define AST_SCHED_DEL_UNREF(con, id, unref) \
    do { \
        if (AST_SCHED_DEL(con, id) == 0) { \
            unref; \
        } \
    } while (0)

#define AST_SCHED_REPLACE(id, con, when, callback, data) ((id) = ast_sched_replace(id, con, when, callback, data))

static inline const void *ast_sched_find_data(struct ast_sched_context *con, int id)
{
    tw_sched_info info;
    return id > 0 && tw_sched_find(con, (uint64_t)id, &info) == 0 ? info.data : NULL;
}

static inline int ast_sched_wait(struct ast_sched_context *con)
{
    int wait = tw_sched_wait(con);
    return wait < 0 ? -1 : wait;
}

static inline int ast_sched_runq(struct ast_sched_context *con)
{
    ptrdiff_t ran = tw_sched_run(con, SIZE_MAX);
    return ran < 0 ? 0 : (int)ran;
}

/* In seconds. */
static inline long ast_sched_when(struct ast_sched_context *con, int id)
{
    int64_t ms;
    return id > 0 && tw_sched_remaining(con, (uint64_t)id, &ms) == 1 ? (long)(ms / 1000) : -1;
}

static inline void ast_sched_clean_by_callback(struct ast_sched_context *con, ast_sched_cb match, ast_sched_cb cleanup)
{
    ast_sched_cb outer = tw_ast_cleaning;
    tw_ast_cleaning = cleanup;
    tw_sched_shutdown_token(con, tw_ast_token(match), NULL);
    tw_ast_cleaning = outer;
}

static inline void ast_sched_dump(struct ast_sched_context *con)
{
    ptrdiff_t length = tw_sched_dump(con, NULL, 0);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (text != NULL && tw_sched_dump(con, text, (size_t)length + 1) >= 0)
        fputs(text, stderr);
    free(text);
}

#endif
