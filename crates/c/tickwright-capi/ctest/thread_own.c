/* State that the platform keeps for each of its threads, and that each thread here has of its
 * own. */
#include <errno.h>

#include "check.h"
#include "models.h"

enum { COUNT = 5, ROUNDS = 50 };
static int current;

static void *body(void *argument)
{
    int me = (int)(intptr_t)argument, round;
    int many = READ(current) == TW_MODEL_MN;
    /* A thread begins without an error. */
    EQUAL(errno, 0);
    for (round = 0; round < ROUNDS; round++) {
        errno = 100 + me;
        /* A wait of the platform may set errno, as any call of the platform may. */
        if (many && round % 3 == 1)
            tw_thread_sleep(10000);
        else
            tw_thread_yield();
        EQUAL(errno, 100 + me);
    }
    return NULL;
}

static void errno_is_ones_own(tw_runtime *threads, tw_model model)
{
    tw_thread all[COUNT];
    int i, round;
    WRITE(current, model);
    for (round = 0; round < 3; round++) {
        for (i = 0; i < COUNT; i++)
            EQUAL(tw_thread_create(threads, &all[i], NULL, body, (void *)(intptr_t)i), 0);
        for (i = 0; i < COUNT; i++)
            EQUAL(tw_thread_join(threads, all[i], NULL), 0);
    }
}

int main(void)
{
    in_each_model("thread_own", errno_is_ones_own);
    return 0;
}
