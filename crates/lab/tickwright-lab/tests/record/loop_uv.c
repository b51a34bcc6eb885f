/* Timers of libuv: one that is moved, cancelled and expires, and one that repeats. */
#include <uv.h>

static int turns;

static void once(uv_timer_t *timer)
{
    (void)timer;
}

static void repeated(uv_timer_t *timer)
{
    if (++turns == 3)
        uv_close((uv_handle_t *)timer, NULL);
}

int main(void)
{
    uv_timer_t one, two;
    uv_timer_init(uv_default_loop(), &one);
    uv_timer_init(uv_default_loop(), &two);
    uv_timer_start(&one, once, 100000, 0);
    uv_timer_start(&one, once, 200000, 0);
    uv_timer_stop(&one);
    uv_timer_stop(&one);
    uv_timer_start(&one, once, 1, 0);
    uv_timer_start(&two, repeated, 20, 20);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return turns == 3 ? 0 : 1;
}
