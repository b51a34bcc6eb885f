/* What a thread costs in each model. Each of P top-level threads keeps a ring of C slots. It joins
 * the thread in a slot before it stores another one there. The top-level threads create `starts`
 * threads in all, which return at once.
 *
 *   cc -O2 threads.c $(pkg-config --cflags --libs tickwright-threads) -o threads
 *   ./threads 4 10 100000
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <tickwright.h>

enum { MOST_TOPLEVEL = 20, MOST_SLOTS = 10 };

static tw_runtime *threads;
static size_t slots;

static void must(int result, const char *what)
{
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", what, tw_strerror(result));
        exit(1);
    }
}

static void *leaf(void *argument)
{
    return argument;
}

/* Joins threads strictly in the order of their creation, whichever has ended first. */
static void *toplevel(void *argument)
{
    uintptr_t starts = (uintptr_t)argument, joined = 0, i;
    tw_thread ring[MOST_SLOTS] = { 0 };
    for (i = 0; i < starts + slots; i++) {
        tw_thread *slot = &ring[i % slots];
        void *value;
        if (*slot != 0) {
            must(tw_thread_join(threads, *slot, &value), "join");
            joined += (uintptr_t)value == i - slots;
            *slot = 0;
        }
        if (i < starts)
            must(tw_thread_create(threads, slot, NULL, leaf, (void *)i), "create");
    }
    return (void *)joined;
}

static void measure(tw_model model, const char *name, size_t tops, uintptr_t starts)
{
    tw_thread top[MOST_TOPLEVEL];
    uint64_t begin = 0, end = 0;
    uintptr_t joined = 0, left = starts;
    size_t i;
    must(tw_runtime_create(&threads, model, NULL), name);
    must(tw_runtime_now(threads, &begin), "now");
    for (i = 0; i < tops; i++) {
        uintptr_t share = left / (tops - i);
        left -= share;
        must(tw_thread_create(threads, &top[i], NULL, toplevel, (void *)share), "create");
    }
    for (i = 0; i < tops; i++) {
        void *value;
        must(tw_thread_join(threads, top[i], &value), "join");
        joined += (uintptr_t)value;
    }
    must(tw_runtime_now(threads, &end), "now");
    must(tw_runtime_destroy(threads), "destroy");
    if (joined != starts) {
        fprintf(stderr, "%s: %" PRIuPTR " of %" PRIuPTR " threads were joined\n", name, joined, starts);
        exit(1);
    }
    printf("%-12s %10.0f ns a thread\n", name, (double)(end - begin) / (double)starts);
}

int main(int count, char **words)
{
    size_t tops = count > 1 ? strtoul(words[1], NULL, 10) : 4;
    uintptr_t starts = count > 3 ? strtoul(words[3], NULL, 10) : 10000;
    slots = count > 2 ? strtoul(words[2], NULL, 10) : 10;
    if (tops < 1 || tops > MOST_TOPLEVEL || slots < 1 || slots > MOST_SLOTS || starts < 1) {
        fprintf(stderr, "use: threads [toplevel, 1 to %d] [slots, 1 to %d] [starts]\n", MOST_TOPLEVEL, MOST_SLOTS);
        return 2;
    }
    measure(TW_MODEL_ONE_TO_ONE, "one-to-one", tops, starts);
    measure(TW_MODEL_MN, "M:N", tops, starts);
    return 0;
}
