/* A scheduler in a loop of libuv: its descriptor is a uv_poll_t, and callbacks run on the loop.
 * cc libuv.c $(pkg-config --cflags --libs tickwright libuv) */
#include <stdio.h>
#include <tickwright.h>
#include <uv.h>

static int left = 2;

static int64_t fires(void *name, const tw_firing *firing)
{
    puts(firing->now_ns < firing->due_ns ? "early" : (const char *)name);
    left--;
    return 0; /* done */
}

static void ready(uv_poll_t *poll, int status, int events)
{
    tw_sched *sched = poll->data;
    if (status == 0 && events != 0 && tw_sched_fd_ack(sched) == 1)
        tw_sched_run(sched, SIZE_MAX);
    if (tw_sched_timeout_ms(sched) < 0) /* no timer is pending: the loop may end */
        uv_close((uv_handle_t *)poll, NULL);
}

int main(void)
{
    uv_loop_t *loop = uv_default_loop();
    uv_poll_t poll;
    tw_sched *sched;
    int fd;
    if (tw_sched_create(&sched, NULL) < 0 || (fd = tw_sched_fd(sched)) < 0)
        return 1;
    if (uv_poll_init(loop, &poll, fd) != 0 || uv_poll_start(&poll, UV_READABLE, ready) != 0)
        return 1;
    poll.data = sched;
    tw_sched_add(sched, 5, fires, "tea");
    tw_sched_add(sched, 3, fires, "egg");
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 && left == 0 && tw_sched_destroy(sched) == 0 ? 0 : 1;
}
