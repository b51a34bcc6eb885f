/* libuv: uv_timer_start, uv_timer_stop. */
#include "peer.h"

#ifndef HAVE_LIBUV
const struct peer libuv = { "libuv", "not built: no libuv (Debian: apt-get install libuv1-dev)", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
#else

#include <stdlib.h>
#include <uv.h>

static uv_loop_t loop;
static uv_timer_t *timers;
static size_t count;
static peer_fired told;

static void on_timer(uv_timer_t *timer)
{
    told((size_t)(timer - timers));
}

static int setup(size_t n)
{
    count = n;
    timers = calloc(n, sizeof *timers);
    if (timers == NULL || uv_loop_init(&loop) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        uv_timer_init(&loop, &timers[i]);
    return 0;
}

static inline void add_one(size_t i, uint64_t delay)
{
    uv_timer_start(&timers[i], on_timer, delay, 0);
}

static inline void del_one(size_t i)
{
    uv_timer_stop(&timers[i]);
}

PEER_LOOPS(add_one, add_one, del_one)

static size_t armed(size_t n)
{
    size_t active = 0;
    for (size_t i = 0; i < n; i++)
        active += (size_t)(uv_is_active((uv_handle_t *)&timers[i]) != 0);
    return active;
}

static void run(peer_fired fired)
{
    told = fired;
    uv_run(&loop, UV_RUN_DEFAULT);
}

static void teardown(void)
{
    for (size_t i = 0; i < count; i++)
        uv_close((uv_handle_t *)&timers[i], NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    free(timers);
}

const struct peer libuv = { "libuv", NULL, setup, add, rearm, del, armed, run, teardown, NULL, 0, 0 };
#endif
