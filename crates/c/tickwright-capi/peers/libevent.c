/* libevent: event_add, event_del. The calls come from a callback of the loop. There libevent has
 * the time in its cache, as the other libraries always do. Two rows: a loop without locks, and a
 * loop with the locks of evthread_use_pthreads, which any thread may use. */
#include "peer.h"

#ifndef HAVE_LIBEVENT
const struct peer libevent = { "libevent", "not built: no libevent (Debian: apt-get install libevent-dev)", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
const struct peer libevent_locked = { "libevent-locked", "not built: no libevent (Debian: apt-get install libevent-dev)", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
#else

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>

static struct event_base *base;
static struct event *timers;
static size_t count;
static peer_fired told;

static void on_timer(evutil_socket_t socket, short what, void *timer)
{
    (void)socket;
    (void)what;
    told((size_t)((struct event *)timer - timers));
}

static int setup_with(size_t n, int flags)
{
    struct event_config *config = event_config_new();
    if (config == NULL || event_config_set_flag(config, flags) != 0)
        return -1;
    count = n;
    base = event_base_new_with_config(config);
    event_config_free(config);
    timers = calloc(n, sizeof *timers);
    if (base == NULL || timers == NULL)
        return -1;
    for (size_t i = 0; i < n; i++)
        event_assign(&timers[i], base, -1, 0, on_timer, &timers[i]);
    return 0;
}

static int setup(size_t n)
{
    return setup_with(n, EVENT_BASE_FLAG_NOLOCK);
}

static inline void add_one(size_t i, uint64_t delay)
{
    struct timeval after = { (time_t)(delay / 1000), (suseconds_t)(delay % 1000 * 1000) };
    event_add(&timers[i], &after);
}

static inline void del_one(size_t i)
{
    event_del(&timers[i]);
}

PEER_LOOPS(add_one, add_one, del_one)

static size_t armed(size_t n)
{
    size_t pending = 0;
    for (size_t i = 0; i < n; i++)
        pending += (size_t)(event_pending(&timers[i], EV_TIMEOUT, NULL) != 0);
    return pending;
}

static void run(peer_fired fired)
{
    told = fired;
    event_base_dispatch(base);
}

static void teardown(void)
{
    for (size_t i = 0; i < count; i++)
        event_del(&timers[i]);
    event_base_free(base);
    free(timers);
}

struct work {
    void (*call)(void *);
    void *argument;
};

static void on_work(evutil_socket_t socket, short what, void *argument)
{
    struct work *work = argument;
    (void)socket;
    (void)what;
    work->call(work->argument);
}

static void inside(void (*call)(void *), void *argument)
{
    struct work work = { call, argument };
    struct timeval at_once = { 0, 0 };
    event_base_once(base, -1, EV_TIMEOUT, on_work, &work, &at_once);
    event_base_loop(base, EVLOOP_ONCE);
}

const struct peer libevent = { "libevent", NULL, setup, add, rearm, del, armed, run, teardown, inside, 0, 0 };

#ifndef HAVE_LIBEVENT_PTHREADS
const struct peer libevent_locked = { "libevent-locked", "not built: no libevent_pthreads (Debian: apt-get install libevent-dev)", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
#else
#include <event2/thread.h>

static int setup_locked(size_t n)
{
    static int have_locks;
    if (!have_locks && evthread_use_pthreads() != 0)
        return -1;
    have_locks = 1;
    return setup_with(n, 0);
}

const struct peer libevent_locked = {
    "libevent-locked", NULL, setup_locked, add, rearm, del, armed, run, teardown, inside, 0, 1
};
#endif
#endif
