/* Timers of libev: one that is moved, cancelled and expires, and one that repeats. */
#include <ev.h>

static int turns;

static void once(struct ev_loop *loop, ev_timer *timer, int why)
{
    (void)loop, (void)timer, (void)why;
}

static void repeated(struct ev_loop *loop, ev_timer *timer, int why)
{
    (void)why;
    if (++turns == 4)
        ev_timer_stop(loop, timer);
}

int main(void)
{
    struct ev_loop *loop = ev_default_loop(0);
    ev_timer one, two;
    ev_timer_init(&one, once, 100.0, 200.0);
    ev_timer_start(loop, &one);
    ev_timer_again(loop, &one);
    ev_timer_stop(loop, &one);
    ev_timer_stop(loop, &one);
    ev_timer_set(&one, 0.001, 0.0);
    ev_timer_start(loop, &one);
    ev_timer_init(&two, repeated, 0.02, 0.02);
    ev_timer_start(loop, &two);
    ev_run(loop, 0);
    return turns == 4 ? 0 : 1;
}
