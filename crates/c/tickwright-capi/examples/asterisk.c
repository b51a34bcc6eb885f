/* A program written against the names of Asterisk's scheduler, with tickwright-asterisk.h in place
 * of its header. */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <semaphore.h>

#include "tickwright-asterisk.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

static int order[15], ran, references;
static sem_t running, go;

static int note(const void *data)
{
    order[ran++] = *(const int *)data;
    return 0;
}

static int again_sooner(const void *data)
{
    int *left = (int *)data;
    return --*left;
}

static int blocks(const void *data)
{
    sem_post(&running);
    while (sem_wait(&go) != 0)
        continue;
    return *(const int *)data;
}

static int unref(const void *data)
{
    (void)data;
    return --references;
}

static void in_order(struct ast_sched_context *con)
{
    static int numbers[15];
    CHECK(ast_sched_wait(con) == -1);
    for (int i = 0; i < 15; i++) {
        numbers[i] = i;
        CHECK(ast_sched_add(con, i % 2 == 0 ? 40 : 0, note, &numbers[i]) > 0);
    }
    for (int due = ast_sched_runq(con); due < 15; due += ast_sched_runq(con))
        poll(NULL, 0, ast_sched_wait(con));
    for (int i = 0; i < 15; i++)
        CHECK(order[i] == (i < 7 ? 2 * i + 1 : 2 * (i - 7)));
    CHECK(ast_sched_wait(con) == -1);
}

static void ids(struct ast_sched_context *con)
{
    int id = -1, other, data = 3;
    CHECK(AST_SCHED_DEL(con, id) == -1);
    CHECK(ast_sched_del(con, -1) == 0 && ast_sched_del(con, 0) == -1 && ast_sched_del(NULL, 5) == -1);
    CHECK(ast_sched_add(con, -5, note, &data) == -1);
    id = ast_sched_add(con, 60000, note, &data);
    CHECK(ast_sched_find_data(con, id) == &data);
    CHECK(ast_sched_when(con, id) >= 58 && ast_sched_when(con, id) <= 60);
    other = id;
    AST_SCHED_REPLACE(id, con, 1000000, note, &data);
    CHECK(id > 0 && id != other && ast_sched_find_data(con, other) == NULL && ast_sched_when(con, id) > 60);
    CHECK(ast_sched_del(con, other) == -1);
    CHECK(AST_SCHED_DEL(con, id) == 0 && id == -1);
    CHECK(ast_sched_add_variable(con, 0, again_sooner, &data, 1) > 0);
    for (int runs = 0; runs < 3; runs += ast_sched_runq(con))
        poll(NULL, 0, ast_sched_wait(con));
    CHECK(data == 0 && ast_sched_wait(con) == -1);

    references = 10;
    for (int i = 0; i < 10; i++)
        CHECK(ast_sched_add(con, 60000, i % 2 == 0 ? blocks : note, &data) > 0);
    ast_sched_clean_by_callback(con, blocks, unref);
    CHECK(references == 5);
    ast_sched_clean_by_callback(con, note, unref);
    CHECK(references == 0 && ast_sched_wait(con) == -1);
}

/* Shows which side releases the reference when a timer is deleted while its callback runs. */
static void while_running(struct ast_sched_context *con)
{
    CHECK(ast_sched_start_thread(con) == 0 && ast_sched_start_thread(con) == -1);
    static const int DELAYS[] = { 0, 60000 };
    for (int i = 0; i < 2; i++) {
        int id = ast_sched_add_variable(con, 0, blocks, &DELAYS[i], 1), result;
        while (sem_wait(&running) != 0)
            continue;
        sem_post(&go);
        result = ast_sched_del(con, id);
        CHECK(result == (DELAYS[i] == 0 ? -1 : 0));
    }
}

int main(void)
{
    struct ast_sched_context *con = ast_sched_context_create();
    CHECK(con != NULL);
    sem_init(&running, 0, 0);
    sem_init(&go, 0, 0);
    in_order(con);
    ids(con);
    while_running(con);
    ast_sched_context_destroy(con);
    return 0;
}
