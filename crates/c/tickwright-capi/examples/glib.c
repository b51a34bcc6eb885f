/* A scheduler as a GSource: it asks the scheduler how long the loop may sleep, and runs what is due
 * on the loop's thread. No descriptor is needed. An arm by another thread for an earlier time wakes
 * the loop. cc glib.c $(pkg-config --cflags --libs tickwright glib-2.0) */
#include <glib.h>
#include <stdio.h>
#include <tickwright.h>

static int left = 2;

static int64_t fires(void *name, const tw_firing *firing)
{
    puts(firing->now_ns < firing->due_ns ? "early" : (const char *)name);
    left--;
    return 0; /* done */
}

struct source {
    GSource source;
    tw_sched *sched;
};

static gboolean prepare(GSource *source, int *timeout_ms)
{
    *timeout_ms = tw_sched_timeout_ms(((struct source *)source)->sched); /* -1: none is pending */
    return *timeout_ms == 0;
}

static gboolean check(GSource *source)
{
    return tw_sched_timeout_ms(((struct source *)source)->sched) == 0;
}

static gboolean dispatch(GSource *source, GSourceFunc call, void *user)
{
    (void)call, (void)user;
    tw_sched_run(((struct source *)source)->sched, SIZE_MAX);
    return G_SOURCE_CONTINUE;
}

static void finalize(GSource *source)
{
    tw_sched_destroy(((struct source *)source)->sched);
}

static GSourceFuncs functions = {
    .prepare = prepare, .check = check, .dispatch = dispatch, .finalize = finalize
};

static void wake(void *context)
{
    g_main_context_wakeup((GMainContext *)context); /* null: the default one */
}

int main(void)
{
    struct source *own = (struct source *)g_source_new(&functions, sizeof(struct source));
    if (tw_sched_create(&own->sched, NULL) < 0 || tw_sched_set_wake(own->sched, wake, NULL) < 0)
        return 1;
    g_source_attach(&own->source, NULL);
    tw_sched_add(own->sched, 5, fires, "tea");
    tw_sched_add(own->sched, 3, fires, "egg");
    while (left > 0)
        g_main_context_iteration(NULL, TRUE);
    g_source_destroy(&own->source);
    g_source_unref(&own->source);
    return 0;
}
