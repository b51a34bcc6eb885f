/* libev: ev_timer_start, ev_timer_again, ev_timer_stop. */
#include "peer.h"

#ifndef HAVE_LIBEV
const struct peer libev = { "libev", "not built: no libev (Debian: apt-get install libev-dev)", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
#else

#include <ev.h>
#include <stdlib.h>

static struct ev_loop *loop;
static ev_timer *timers;
static peer_fired told;

static void on_timer(struct ev_loop *of, ev_timer *timer, int what)
{
    (void)of;
    (void)what;
    told((size_t)(timer - timers));
}

static int setup(size_t n)
{
    loop = ev_loop_new(EVFLAG_AUTO);
    timers = calloc(n, sizeof *timers);
    if (loop == NULL || timers == NULL)
        return -1;
    for (size_t i = 0; i < n; i++)
        ev_timer_init(&timers[i], on_timer, 0., 0.);
    return 0;
}

static inline void add_one(size_t i, uint64_t delay)
{
    ev_timer_set(&timers[i], (double)delay / 1000, 0.);
    ev_timer_start(loop, &timers[i]);
}

static inline void rearm_one(size_t i, uint64_t delay)
{
    timers[i].repeat = (double)delay / 1000;
    ev_timer_again(loop, &timers[i]);
}

static inline void del_one(size_t i)
{
    ev_timer_stop(loop, &timers[i]);
}

PEER_LOOPS(add_one, rearm_one, del_one)

static size_t armed(size_t n)
{
    size_t active = 0;
    for (size_t i = 0; i < n; i++)
        active += (size_t)(ev_is_active(&timers[i]) != 0);
    return active;
}

static void run(peer_fired fired)
{
    told = fired;
    ev_run(loop, 0);
}

static void teardown(void)
{
    ev_loop_destroy(loop);
    free(timers);
}

const struct peer libev = { "libev", NULL, setup, add, rearm, del, armed, run, teardown, NULL, 0, 0 };
#endif
