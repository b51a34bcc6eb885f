/* A scheduler in a loop of libevent: its descriptor is an event, and callbacks run on the loop.
 * cc libevent.c $(pkg-config --cflags --libs tickwright libevent) */
#include <event2/event.h>
#include <stdio.h>
#include <tickwright.h>

static int left = 2;

static int64_t fires(void *name, const tw_firing *firing)
{
    puts(firing->now_ns < firing->due_ns ? "early" : (const char *)name);
    left--;
    return 0; /* done */
}

struct loop {
    tw_sched *sched;
    struct event *event;
};

static void ready(evutil_socket_t fd, short what, void *argument)
{
    struct loop *loop = argument;
    (void)fd, (void)what;
    if (tw_sched_fd_ack(loop->sched) == 1)
        tw_sched_run(loop->sched, SIZE_MAX);
    if (tw_sched_timeout_ms(loop->sched) < 0) /* no timer is pending: the loop may end */
        event_del(loop->event);
}

int main(void)
{
    struct event_base *base = event_base_new();
    struct loop loop;
    int fd;
    if (base == NULL || tw_sched_create(&loop.sched, NULL) < 0)
        return 1;
    if ((fd = tw_sched_fd(loop.sched)) < 0)
        return 1;
    loop.event = event_new(base, fd, EV_READ | EV_PERSIST, ready, &loop);
    if (loop.event == NULL || event_add(loop.event, NULL) != 0)
        return 1;
    tw_sched_add(loop.sched, 5, fires, "tea");
    tw_sched_add(loop.sched, 3, fires, "egg");
    event_base_dispatch(base);
    event_free(loop.event);
    event_base_free(base);
    return left == 0 && tw_sched_destroy(loop.sched) == 0 ? 0 : 1;
}
