/* Timers of libevent: one that is moved, cancelled and expires, and one that repeats. */
#include <event2/event.h>

static struct event_base *base;
static int turns;

static void once(evutil_socket_t file, short what, void *with)
{
    (void)file, (void)what, (void)with;
}

static void repeated(evutil_socket_t file, short what, void *with)
{
    (void)file, (void)what, (void)with;
    if (++turns == 3)
        event_base_loopbreak(base);
}

int main(void)
{
    struct timeval far = { 100, 0 }, farther = { 200, 0 }, soon = { 0, 1000 }, period = { 0, 20000 };
    base = event_base_new();
    struct event *one = evtimer_new(base, once, NULL);
    struct event *two = event_new(base, -1, EV_PERSIST, repeated, NULL);
    event_add(one, &far);
    event_add(one, &farther);
    event_del(one);
    event_del(one);
    event_add(one, &soon);
    event_add(two, &period);
    event_base_dispatch(base);
    return turns == 3 ? 0 : 1;
}
