/* The names of Asterisk's scheduler (its public header asterisk/sched.h) on Tickwright's. Include
 * this file in place of asterisk/sched.h. It needs C11 or C++11, and GCC or Clang.
 *
 * What is here: all functions and macros of the header of Asterisk 13 and later. Older programs
 * write `struct sched_context` and `ast_sched_thread_*`: those names are not here.
 *
 *   ast_sched_add,            macros, which note the callback's name and the line for
 *   ast_sched_add_variable,   ast_sched_dump: no pointer to them can be taken
 *   ast_sched_replace,
 *   ast_sched_replace_variable
 *   AST_SCHED_DEL_SPINLOCK    calls your ast_mutex_lock and ast_mutex_unlock
 *   ast_sched_report          calls your ast_str_set
 *   ast_sched_add_object,     call your ASTOBJ_REF and ASTOBJ_UNREF
 *   ast_sched_del_object
 *
 * What is different:
 *
 *   a delay below 0      fails with -1. Asterisk takes it for a time in the past.
 *   early                A callback never runs early. Asterisk's may run 1 ms early.
 *   a step of the clock  moves no timer. In Asterisk all timers follow the time of day.
 *   ast_sched_wait       rounds up to ms, so that a loop does not wake too early. Asterisk's rounds
 *                        down. As there, a loop that sleeps for it does not notice an earlier timer
 *                        of another thread, unless that thread wakes the loop.
 *   ast_sched_del        waits for a callback that runs on another thread, as Asterisk's does. Then
 *                        it returns 0 if the callback had asked to run again: the caller gives back
 *                        what the timer held. It returns -1 if the callback had ended the timer:
 *                        the callback gave it back. Asterisk's returns -1 in both cases.
 *   ..._DEL_SPINLOCK     releases the lock while it waits. Asterisk's waits with the lock held, and
 *                        releases it between two attempts.
 *   ..._REPLACE_..UNREF  runs neither `unref` nor `ref` if the new data is the old data. Asterisk's
 *                        runs both.
 *   ..._DEL_UNREF        sets the id to -1 in all cases, even if the callback had ended the timer.
 *   the macros           log nothing.
 *   an id                is issued again only after 2^31 others. An id that was kept too long finds
 *                        no timer, in particular no timer of other code. The look-up is O(1).
 *   a variable callback  that returns less than 0 is done. In Asterisk it is due again at once.
 *   clean_by_callback    calls the clean-up function without a lock, and skips nothing.
 *   NULL for a context   gives -1.
 *   ast_sched_report     has another layout.
 */
#ifndef TICKWRIGHT_ASTERISK_H
#define TICKWRIGHT_ASTERISK_H

#include <poll.h>
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

/* The clean-up function that this thread has passed to ast_sched_clean_by_callback. All files share
 * the variable. */
__attribute__((weak)) __thread ast_sched_cb tw_ast_cleaning;

static inline void tw_ast_clean(void *data)
{
    ast_sched_cb cleaning = tw_ast_cleaning;
    if (cleaning != NULL) {
        tw_ast_cleaning = NULL; /* it may cancel others */
        cleaning(data);
        tw_ast_cleaning = cleaning;
    }
}

static inline void tw_ast_wake(void *nothing)
{
    (void)nothing;
}

static inline struct ast_sched_context *ast_sched_context_create(void)
{
    tw_sched *con = NULL;
    /* As in Asterisk, a program wakes its loop by itself after an add by another thread. */
    if (tw_sched_create(&con, NULL) == 0 && tw_sched_set_wake(con, tw_ast_wake, NULL) != 0) {
        tw_sched_destroy(con);
        con = NULL;
    }
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

static inline int tw_ast_place(struct ast_sched_context *con, int when, ast_sched_cb callback,
                               const void *data, int variable, const char *name, const char *file,
                               int line)
{
    tw_job job = TW_JOB_INIT;
    int id;
    if (callback == NULL)
        return -1;
    job.call = tw_ast_call;
    job.cleanup = tw_ast_clean;
    job.data = (void *)data;
    job.token = tw_ast_token(callback);
    job.flags = variable ? TW_JOB_VARIABLE : 0;
    job.timing.when_ns = (int64_t)when * 1000000;
    id = tw_sched_replace_job_from(con, 0, &job, NULL, NULL, name, file, line);
    return id > 0 ? id : -1;
}

/* Returns 0 if the timer will not run any more. Returns -1 if there is no such timer, or the caller
 * is its callback. Returns -2 if its callback ran and had ended the timer. */
static inline int ast_sched_del_nonrunning(struct ast_sched_context *con, int id)
{
    int found = id < 0 ? 0 : tw_sched_cancel_sync(con, (uint64_t)id);
    return found == TW_CANCEL_FINISHED ? -2 : found < 0 ? -1 : 0;
}

static inline int ast_sched_del(struct ast_sched_context *con, int id)
{
    return ast_sched_del_nonrunning(con, id) == 0 ? 0 : -1;
}

/* Like ast_sched_del, but returns -EBUSY while the callback runs. */
static inline int tw_ast_try(struct ast_sched_context *con, int id)
{
    int found = tw_sched_cancel_try(con, (uint64_t)id);
    return found == -EBUSY ? -EBUSY : found < 0 ? -1 : 0;
}

/* Like ast_sched_del, and writes the timer's data to `*data`. While a callback runs, the callback
 * has the data. So this function waits up to a second until the callback returns. If it does not
 * return, `*data` stays as it was. */
static inline int tw_ast_take(struct ast_sched_context *con, int id, void **data)
{
    tw_sched_info info = TW_SCHED_INFO_INIT;
    int tries;
    for (tries = 0; tries < 1000; tries++) {
        if (id <= 0 || tw_sched_find(con, (uint64_t)id, &info) != 0)
            return -1;
        if (info.state != TW_STATE_RUNNING) {
            *data = info.data;
            break;
        }
        if (tw_sched_run(con, 0) == -EDEADLK)
            return -1; /* the caller is the callback */
        poll(NULL, 0, 1);
    }
    return ast_sched_del(con, id);
}

/* Replacing deletes the old timer first, and so waits for its callback: afterwards the caller may
 * free what the old timer used. Hold no lock that the old callback wants. */
static inline int tw_ast_replace(int old_id, struct ast_sched_context *con, int when,
                                 ast_sched_cb callback, const void *data, int variable,
                                 const char *name, const char *file, int line)
{
    if (old_id > -1)
        ast_sched_del(con, old_id);
    return tw_ast_place(con, when, callback, data, variable, name, file, line);
}

#define ast_sched_add(con, when, callback, data) \
    tw_ast_place(con, when, callback, data, 0, #callback, __FILE__, __LINE__)
#define ast_sched_add_variable(con, when, callback, data, variable) \
    tw_ast_place(con, when, callback, data, variable, #callback, __FILE__, __LINE__)
#define ast_sched_replace(old_id, con, when, callback, data) \
    tw_ast_replace(old_id, con, when, callback, data, 0, #callback, __FILE__, __LINE__)
#define ast_sched_replace_variable(old_id, con, when, callback, data, variable) \
    tw_ast_replace(old_id, con, when, callback, data, variable, #callback, __FILE__, __LINE__)

/* Deletes the timer whose id the expression `id` reads, and sets `result`. A callback that runs
 * meanwhile may add another timer and write its id there: then this deletes that one too, up to 10
 * times. */
#define TW_AST_EACH(id, result, delete_current) \
    do { \
        int tw_ast_id = -1, tw_ast_tries = 0; \
        while ((result) != 0 && (id) > -1 && (id) != tw_ast_id && tw_ast_tries++ < 10) { \
            tw_ast_id = (id); \
            (result) = (delete_current); \
        } \
    } while (0)

#define AST_SCHED_DEL(con, id) \
    __extension__({ \
        int tw_ast_result = -1; \
        TW_AST_EACH(id, tw_ast_result, ast_sched_del(con, tw_ast_id)); \
        (id) = -1; \
        tw_ast_result; \
    })

#define AST_SCHED_DEL_ACCESSOR(con, obj, getter, setter) \
    __extension__({ \
        int tw_ast_result = -1; \
        TW_AST_EACH(getter(obj), tw_ast_result, ast_sched_del(con, tw_ast_id)); \
        setter(obj, -1); \
        tw_ast_result; \
    })

/* The macro is for a caller that holds `lock`, which the callback takes too. */
#define AST_SCHED_DEL_SPINLOCK(con, id, lock) \
    __extension__({ \
        int tw_ast_result = -1; \
        TW_AST_EACH(id, tw_ast_result, __extension__({ \
            int tw_ast_found = tw_ast_try(con, tw_ast_id); \
            if (tw_ast_found == -EBUSY) { \
                ast_mutex_unlock(lock); \
                tw_ast_found = ast_sched_del(con, tw_ast_id); \
                ast_mutex_lock(lock); \
            } \
            tw_ast_found; \
        })); \
        (id) = -1; \
        tw_ast_result; \
    })

#define AST_SCHED_DEL_UNREF(con, id, unref) \
    do { \
        if (AST_SCHED_DEL(con, id) == 0) { \
            unref; \
        } \
    } while (0)

#define AST_SCHED_REPLACE_VARIABLE(id, con, when, callback, data, variable) \
    do { \
        (void)AST_SCHED_DEL(con, id); \
        (id) = ast_sched_add_variable(con, when, callback, data, variable); \
    } while (0)

#define AST_SCHED_REPLACE(id, con, when, callback, data) \
    AST_SCHED_REPLACE_VARIABLE(id, con, when, callback, data, 0)

/* Replaces a timer that holds a reference to its data. `unref` gives back the reference to the old
 * data, which it names `_data`. `ref` takes a reference to the new data, and `add_failed` gives
 * that reference back. If both are the same data, the new timer keeps the reference: neither
 * `unref` nor `ref` runs. */
#define AST_SCHED_REPLACE_VARIABLE_UNREF(id, con, when, callback, data, variable, unref, \
                                         add_failed, ref) \
    do { \
        int tw_ast_taken = -1; \
        void *_data = NULL; \
        TW_AST_EACH(id, tw_ast_taken, tw_ast_take(con, tw_ast_id, &_data)); \
        if (tw_ast_taken != 0 || _data != (const void *)(data)) { \
            if (tw_ast_taken == 0 && _data != NULL) { \
                unref; \
            } \
            ref; \
        } \
        (id) = ast_sched_add_variable(con, when, callback, data, variable); \
        if ((id) == -1) { \
            add_failed; \
        } \
    } while (0)

#define AST_SCHED_REPLACE_UNREF(id, con, when, callback, data, unref, add_failed, ref) \
    AST_SCHED_REPLACE_VARIABLE_UNREF(id, con, when, callback, data, 0, unref, add_failed, ref)

#define ast_sched_add_object(obj, con, when, callback) \
    ast_sched_add(con, when, callback, ASTOBJ_REF((obj)))

#define ast_sched_del_object(obj, destructor, con, id) \
    do { \
        if ((id) > -1) { \
            ast_sched_del(con, id); \
            (id) = -1; \
            ASTOBJ_UNREF((obj), (destructor)); \
        } \
    } while (0)

static inline const void *ast_sched_find_data(struct ast_sched_context *con, int id)
{
    tw_sched_info info = TW_SCHED_INFO_INIT;
    return id > 0 && tw_sched_find(con, (uint64_t)id, &info) == 0 ? info.data : NULL;
}

static inline int ast_sched_wait(struct ast_sched_context *con)
{
    int wait = tw_sched_timeout_ms(con);
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

static inline void ast_sched_clean_by_callback(struct ast_sched_context *con, ast_sched_cb match,
                                               ast_sched_cb cleanup)
{
    ast_sched_cb outer = tw_ast_cleaning;
    tw_ast_cleaning = cleanup;
    tw_sched_shutdown_token(con, tw_ast_token(match), NULL);
    tw_ast_cleaning = outer;
}

/* Returns a text with every timer; the caller frees the text. Returns NULL if no memory is left. */
static inline char *tw_ast_text(struct ast_sched_context *con)
{
    ptrdiff_t length = tw_sched_dump(con, NULL, 0);
    size_t size = length < 0 ? 0 : (size_t)length + 1;
    char *text = size == 0 ? NULL : (char *)malloc(size);
    if (text != NULL && tw_sched_dump(con, text, size) < 0) {
        free(text);
        text = NULL;
    }
    return text;
}

static inline void ast_sched_dump(struct ast_sched_context *con)
{
    char *text = tw_ast_text(con);
    if (text != NULL)
        fputs(text, stderr);
    free(text);
}

/* Names of callbacks, for ast_sched_report. */
struct ast_cb_names {
    int numassocs;
    char *list[10];
    ast_sched_cb cblist[10];
};

/* The token of the pending timer in a line of a dump, which begins with the id and the state. */
static inline const void *tw_ast_line(struct ast_sched_context *con, const char *line)
{
    tw_sched_info info = TW_SCHED_INFO_INIT;
    char *rest;
    long id = strtol(line, &rest, 10);
    if (id <= 0 || strncmp(rest + strspn(rest, " "), "pending", 7) != 0)
        return NULL;
    return tw_sched_find(con, (uint64_t)id, &info) == 0 ? info.token : NULL;
}

enum { TW_AST_REPORT_SIZE = 1024 };

/* The greatest number of timers so far, the number of pending ones, and their number for each
 * callback. */
static inline void tw_ast_report(struct ast_sched_context *con, const struct ast_cb_names *names,
                                 char *report)
{
    int of_each[11] = { 0 }, known = names == NULL ? 0 : names->numassocs, i, length;
    size_t used;
    tw_sched_counts counts = TW_SCHED_COUNTS_INIT;
    char *text = tw_ast_text(con);
    const char *line;
    tw_sched_get_counts(con, &counts);
    known = known < 0 ? 0 : known > 10 ? 10 : known;
    for (line = text; line != NULL && *line != 0; line += strcspn(line, "\n"), line += *line != 0) {
        const void *token = tw_ast_line(con, line);
        for (i = 0; i < known && tw_ast_token(names->cblist[i]) != token; i++)
            continue;
        of_each[i] += token != NULL;
    }
    free(text);
    used = (size_t)snprintf(report, TW_AST_REPORT_SIZE, "at most: %llu\npending: %llu\n",
                            (unsigned long long)counts.high_water,
                            (unsigned long long)counts.pending);
    for (i = 0; i <= known && used < TW_AST_REPORT_SIZE; i++) {
        length = snprintf(report + used, TW_AST_REPORT_SIZE - used, "  %s: %d\n",
                          i < known ? names->list[i] : "others", of_each[i]);
        used += length < 0 ? 0 : (size_t)length;
    }
}

/* Writes the report into a `struct ast_str **`. */
#define ast_sched_report(con, buf, cbnames) \
    do { \
        char tw_ast_buffer[TW_AST_REPORT_SIZE]; \
        tw_ast_report(con, cbnames, tw_ast_buffer); \
        ast_str_set(buf, 0, "%s", tw_ast_buffer); \
    } while (0)

#endif
