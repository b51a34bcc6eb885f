/* A program that is wrong on purpose: two schedulers, run by two threads, count in one plain
 * integer. ThreadSanitizer must report the race. Otherwise our suppressions hide all callbacks from
 * it. */
#include <pthread.h>

#include "../check.h"

static int shared;

static int64_t count(void *data, const tw_firing *firing)
{
    (void)data;
    (void)firing;
    shared++;
    return 0;
}

static void *runs(void *sched)
{
    CHECK(tw_sched_add((tw_sched *)sched, 1, count, NULL) > 0);
    EQUAL(tw_sched_advance((tw_sched *)sched, 5000000), 0);
    EQUAL(tw_sched_run((tw_sched *)sched, 10), 0);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    tw_sched *scheds[2];
    int i;
    for (i = 0; i < 2; i++) {
        scheds[i] = new_sched(TW_FAMILY_HEAP4);
        EQUAL(pthread_create(&threads[i], NULL, runs, scheds[i]), 0);
    }
    for (i = 0; i < 2; i++) {
        EQUAL(pthread_join(threads[i], NULL), 0);
        end_sched(scheds[i]);
    }
    EQUAL(shared, 2);
    return 0;
}
