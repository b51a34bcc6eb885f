/* The names of Asterisk's scheduler: what a program relies on, also while a callback runs. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>

#include "check.h"

#include "../examples/tickwright-asterisk.h"

/* What a program for Asterisk has from other headers. */
#define ast_mutex_lock pthread_mutex_lock
#define ast_mutex_unlock pthread_mutex_unlock

struct ast_str {
    char text[TW_AST_REPORT_SIZE];
};

static int ast_str_set(struct ast_str **buffer, ptrdiff_t limit, const char *format, ...)
{
    int length;
    va_list values;
    (void)limit;
    va_start(values, format);
    length = vsnprintf((*buffer)->text, sizeof (*buffer)->text, format, values);
    va_end(values);
    return length;
}

enum { AGAIN = 60000 };

/* What a timer points to. */
struct call {
    struct ast_sched_context *con;
    sem_t running;
    pthread_mutex_t lock;
    int id;       /* of its timer */
    int replaced; /* the call that waits has returned */
    int early;    /* and had, before the callback returned */
    int result;   /* of the callback */
    int references;
};

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        continue;
}

static void take(struct call *call)
{
    __atomic_add_fetch(&call->references, 1, __ATOMIC_SEQ_CST);
}

static void give_back(struct call *call)
{
    __atomic_sub_fetch(&call->references, 1, __ATOMIC_SEQ_CST);
}

/* Runs until the other thread has returned from the call that is to wait for this callback, or for
 * 50 ms. */
static int lingers(const void *data)
{
    struct call *call = (struct call *)data;
    int tries, result = READ(call->result);
    sem_post(&call->running);
    for (tries = 0; tries < 50 && !READ(call->replaced); tries++)
        poll(NULL, 0, 1);
    WRITE(call->early, READ(call->replaced));
    if (result == 0)
        give_back(call);
    return result;
}

static int nothing(const void *data)
{
    (void)data;
    return 0;
}

static int other(const void *data)
{
    (void)data;
    return 0;
}

/* Adds a timer, and returns while its callback runs. It returns `result`: 0, or the next delay. */
static void begin(struct call *call, int result)
{
    WRITE(call->result, result);
    take(call);
    WRITE(call->replaced, 0);
    WRITE(call->early, -1);
    call->id = ast_sched_add_variable(call->con, 0, lingers, call, 1);
    CHECK(call->id > 0);
    wait_for(&call->running);
}

static void ended(struct call *call)
{
    WRITE(call->replaced, 1);
    EQUAL(READ(call->early), 0);
}

/* When a replace has returned, no function of the old timer runs, so its data may be freed. */
static void replaced(struct call *call)
{
    int was, result;
    for (result = 0; result <= AGAIN; result += AGAIN) {
        begin(call, result);
        was = call->id;
        call->id = ast_sched_replace(was, call->con, 60000, nothing, call);
        ended(call);
        CHECK(call->id > 0 && call->id != was && ast_sched_find_data(call->con, was) == NULL);
        EQUAL(AST_SCHED_DEL(call->con, call->id), 0);

        begin(call, result);
        call->id = ast_sched_replace_variable(call->id, call->con, 60000, nothing, call, 1);
        ended(call);
        EQUAL(AST_SCHED_DEL(call->con, call->id), 0);

        begin(call, result);
        AST_SCHED_REPLACE(call->id, call->con, 60000, nothing, call);
        ended(call);
        EQUAL(AST_SCHED_DEL(call->con, call->id), 0);

        begin(call, result);
        AST_SCHED_REPLACE_VARIABLE(call->id, call->con, 60000, nothing, call, 1);
        ended(call);
        EQUAL(AST_SCHED_DEL(call->con, call->id), 0);
        EQUAL(call->id, -1);
    }
    EQUAL(ast_sched_wait(call->con), -1);
    /* A replace that cannot add the new timer has deleted the old one all the same. */
    call->id = ast_sched_add(call->con, 60000, nothing, call);
    EQUAL(ast_sched_replace(call->id, call->con, -1, nothing, call), -1);
    EQUAL(ast_sched_replace(-1, call->con, 0, NULL, call), -1);
    EQUAL(ast_sched_wait(call->con), -1);
    WRITE(call->references, 0);
}

static int released; /* references given back by the macros */

static int unref(void *data)
{
    CHECK(data != NULL);
    give_back((struct call *)data);
    return ++released;
}

/* Each reference that a timer holds is given back once, by the callback or by the caller. */
static void references(struct call *call, struct call *next)
{
    int failed = 0, result;
    /* Pending: another's data, the same data, and an add that fails. */
    call->id = ast_sched_add(call->con, 60000, nothing, call);
    take(call);
    released = 0;
    AST_SCHED_REPLACE_UNREF(call->id, call->con, 60000, nothing, next, unref(_data), failed++,
                            take(next));
    CHECK(call->id > 0 && released == 1 && failed == 0);
    CHECK(READ(call->references) == 0 && READ(next->references) == 1);
    AST_SCHED_REPLACE_VARIABLE_UNREF(call->id, call->con, 60000, nothing, next, 1, unref(_data),
                                     failed++, take(next));
    CHECK(call->id > 0 && released == 1 && READ(next->references) == 1 && failed == 0);
    AST_SCHED_REPLACE_UNREF(call->id, call->con, -1, nothing, call, unref(_data),
                            (failed++, give_back(call)), take(call));
    CHECK(call->id == -1 && released == 2 && failed == 1);
    CHECK(READ(call->references) == 0 && READ(next->references) == 0);
    EQUAL(ast_sched_wait(call->con), -1);
    /* There is no old timer, so no reference is given back. */
    AST_SCHED_REPLACE_UNREF(call->id, call->con, 60000, nothing, call, unref(_data), failed++,
                            take(call));
    CHECK(call->id > 0 && released == 2 && READ(call->references) == 1 && failed == 1);
    AST_SCHED_DEL_UNREF(call->con, call->id, unref(call));
    CHECK(call->id == -1 && released == 3 && READ(call->references) == 0);

    /* The old timer runs. A callback that ended its timer has given the reference back itself. */
    for (result = 0; result <= AGAIN; result += AGAIN) {
        released = 0;
        begin(call, result);
        AST_SCHED_REPLACE_UNREF(call->id, call->con, 60000, nothing, next, unref(_data), failed++,
                                take(next));
        ended(call);
        CHECK(call->id > 0 && failed == 1);
        CHECK(READ(call->references) == 0 && READ(next->references) == 1);
        EQUAL(released, result == AGAIN);
        begin(next, result);
        EQUAL(READ(next->references), 2);
        AST_SCHED_REPLACE_UNREF(next->id, call->con, 60000, nothing, next, unref(_data), failed++,
                                take(next));
        ended(next);
        EQUAL(READ(next->references), 2); /* of the two that are pending */
        AST_SCHED_DEL_UNREF(call->con, next->id, unref(next));
        AST_SCHED_DEL_UNREF(call->con, call->id, unref(next));
        EQUAL(READ(next->references), 0);
        EQUAL(ast_sched_wait(call->con), -1);
    }
}

static int held(const void *data)
{
    struct call *call = (struct call *)data;
    sem_post(&call->running);
    pthread_mutex_lock(&call->lock);
    call->early = 1;
    pthread_mutex_unlock(&call->lock);
    return 0;
}

/* Adds itself again and writes the new id, under the lock. */
static int adds_itself(const void *data)
{
    struct call *call = (struct call *)data;
    sem_post(&call->running);
    pthread_mutex_lock(&call->lock);
    call->id = ast_sched_add(call->con, 60000, nothing, call);
    pthread_mutex_unlock(&call->lock);
    return 0;
}

/* The macro releases the lock that the callback wants. */
static void spinlock(struct call *call)
{
    pthread_mutex_lock(&call->lock);
    call->early = 0;
    call->id = ast_sched_add(call->con, 0, held, call);
    wait_for(&call->running);
    EQUAL(AST_SCHED_DEL_SPINLOCK(call->con, call->id, &call->lock), -1);
    CHECK(call->early == 1 && call->id == -1);
    EQUAL(AST_SCHED_DEL_SPINLOCK(call->con, call->id, &call->lock), -1);
    call->id = ast_sched_add(call->con, 60000, nothing, call);
    EQUAL(AST_SCHED_DEL_SPINLOCK(call->con, call->id, &call->lock), 0);
    EQUAL(call->id, -1);

    /* The macro also deletes the timer that the callback has added under the id. */
    call->id = ast_sched_add(call->con, 0, adds_itself, call);
    wait_for(&call->running);
    EQUAL(AST_SCHED_DEL_SPINLOCK(call->con, call->id, &call->lock), 0);
    EQUAL(call->id, -1);
    EQUAL(ast_sched_wait(call->con), -1);
    pthread_mutex_unlock(&call->lock);
}

static int get_id(const struct call *call)
{
    return call->id;
}

static void set_id(struct call *call, int id)
{
    call->id = id;
}

static void accessor(struct call *call)
{
    call->id = ast_sched_add(call->con, 60000, nothing, call);
    EQUAL(AST_SCHED_DEL_ACCESSOR(call->con, call, get_id, set_id), 0);
    EQUAL(call->id, -1);
    EQUAL(AST_SCHED_DEL_ACCESSOR(call->con, call, get_id, set_id), -1);
    EQUAL(ast_sched_wait(call->con), -1);
}

static int deletes_itself(const void *data)
{
    struct call *call = (struct call *)data;
    void *taken = NULL;
    int id;
    pthread_mutex_lock(&call->lock);
    id = call->id;
    call->early = ast_sched_del(call->con, id) == -1 &&
                  ast_sched_del_nonrunning(call->con, id) == -1 &&
                  tw_ast_take(call->con, id, &taken) == -1 && taken == NULL;
    id = ast_sched_replace(id, call->con, 60000, nothing, call);
    call->id = id;
    pthread_mutex_unlock(&call->lock);
    sem_post(&call->running);
    return 0;
}

/* A callback that deletes or replaces its own timer does not wait for itself. */
static void from_within(struct call *call)
{
    int id;
    pthread_mutex_lock(&call->lock);
    call->id = ast_sched_add(call->con, 0, deletes_itself, call);
    pthread_mutex_unlock(&call->lock);
    wait_for(&call->running);
    pthread_mutex_lock(&call->lock);
    id = call->id;
    EQUAL(call->early, 1);
    pthread_mutex_unlock(&call->lock);
    EQUAL(ast_sched_del(call->con, id), 0);
}

static void reports(struct call *call)
{
    struct ast_str space, *text = &space;
    struct ast_cb_names names;
    char first[] = "nothing", second[] = "lingers";
    int ids[4], i;
    memset(&names, 0, sizeof names);
    names.numassocs = 2;
    names.list[0] = first;
    names.cblist[0] = nothing;
    names.list[1] = second;
    names.cblist[1] = lingers;
    for (i = 0; i < 4; i++)
        ids[i] = ast_sched_add(call->con, 60000, i == 3 ? other : nothing, call);
    ast_sched_report(call->con, &text, &names);
    CHECK(strstr(space.text, "at most: ") == space.text);
    CHECK(strstr(space.text, "pending: 4\n") != NULL);
    CHECK(strstr(space.text, "  nothing: 3\n  lingers: 0\n  others: 1\n") != NULL);
    ast_sched_report(call->con, &text, (struct ast_cb_names *)NULL);
    CHECK(strstr(space.text, "  others: 4\n") != NULL);
    ast_sched_report(NULL, &text, &names);
    CHECK(strstr(space.text, "pending: 0\n") != NULL);
    for (i = 0; i < 4; i++)
        EQUAL(ast_sched_del(call->con, ids[i]), 0);
}

/* Without a context or a timer, each function returns an error. */
static void misuse(struct call *call)
{
    static const int NONE[] = { -2147483647 - 1, -1, 0, 1, 2147483647 };
    struct ast_sched_context *const cons[] = { NULL, call->con };
    void *taken = &taken;
    size_t i, k;
    int id;
    for (k = 0; k < 2; k++) {
        for (i = 0; i < sizeof NONE / sizeof *NONE; i++) {
            EQUAL(ast_sched_del(cons[k], NONE[i]), NONE[i] < 0 ? 0 : -1);
            EQUAL(ast_sched_del_nonrunning(cons[k], NONE[i]), NONE[i] < 0 ? 0 : -1);
            EQUAL(ast_sched_when(cons[k], NONE[i]), -1);
            CHECK(ast_sched_find_data(cons[k], NONE[i]) == NULL);
            EQUAL(tw_ast_take(cons[k], NONE[i], &taken), -1);
            id = NONE[i];
            EQUAL(AST_SCHED_DEL(cons[k], id), -1);
            id = NONE[i];
            EQUAL(AST_SCHED_DEL_SPINLOCK(cons[k], id, &call->lock), -1);
            EQUAL(ast_sched_replace(NONE[i], cons[k], 0, (ast_sched_cb)NULL, NULL), -1);
            EQUAL(ast_sched_replace_variable(NONE[i], cons[k], -1, nothing, NULL, 1), -1);
        }
    }
    CHECK(taken == &taken);
    EQUAL(ast_sched_add(NULL, 1, nothing, NULL), -1);
    EQUAL(ast_sched_add_variable(NULL, 1, nothing, NULL, 1), -1);
    EQUAL(ast_sched_wait(NULL), -1);
    EQUAL(ast_sched_runq(NULL), 0);
    EQUAL(ast_sched_start_thread(NULL), -1);
    ast_sched_clean_by_callback(NULL, nothing, nothing);
    ast_sched_dump(NULL);
    ast_sched_context_destroy(NULL);
}

static void open_call(struct call *call, struct ast_sched_context *con)
{
    memset(call, 0, sizeof *call);
    call->con = con;
    EQUAL(sem_init(&call->running, 0, 0), 0);
    EQUAL(pthread_mutex_init(&call->lock, NULL), 0);
}

int main(void)
{
    static struct call first, second;
    struct ast_sched_context *con = ast_sched_context_create();
    CHECK(con != NULL);
    open_call(&first, con);
    open_call(&second, con);
    misuse(&first);
    EQUAL(ast_sched_start_thread(con), 0);
    replaced(&first);
    references(&first, &second);
    spinlock(&first);
    accessor(&first);
    from_within(&first);
    reports(&first);
    EQUAL(tw_sched_check(con, NULL, 0), 0);
    ast_sched_context_destroy(con);
    sem_destroy(&first.running);
    sem_destroy(&second.running);
    pthread_mutex_destroy(&first.lock);
    pthread_mutex_destroy(&second.lock);
    return 0;
}
