/* A frame of 12 KiB, compiled without stack probes, at the end of an M:N thread's stack: it must
 * meet the guard, and not the stack of the neighbor below. The process ends, with a report. */
#include "../check.h"

enum { COUNT = 8, DATA = 16384 };

static struct place {
    char *low;
    size_t size;
    int wrong;
} at[COUNT];
static int measured;

__attribute__((noinline)) static void big(void)
{
    volatile char frame[12288];
    int i;
    for (i = 0; i < 4096; i++)
        frame[i] = (char)0xEE;
    __asm__ volatile("" : : "r"(frame) : "memory");
}

__attribute__((noinline)) static int down(char *low)
{
    volatile char frame[256];
    frame[0] = 1;
    if ((char *)frame - low > 1400)
        return down(low) + frame[0];
    big();
    return frame[0];
}

/* Each thread has data in its stack, and the first thread steps over the end of its stack. */
static void *body(void *argument)
{
    int me = (int)(intptr_t)argument, i;
    unsigned char data[DATA];
    void *low = NULL;
    EQUAL(tw_thread_stack(&low, &at[me].size), 1);
    at[me].low = (char *)low;
    memset(data, 0x11, sizeof data);
    __asm__ volatile("" : : "r"(data) : "memory");
    measured++;
    while (measured < COUNT)
        tw_thread_yield();
    if (me == 0)
        down(at[me].low);
    tw_thread_yield();
    __asm__ volatile("" : : "r"(data) : "memory");
    for (i = 0; i < DATA; i++)
        at[me].wrong += data[i] != 0x11;
    return NULL;
}

int main(void)
{
    tw_runtime *threads;
    tw_runtime_options options = TW_RUNTIME_OPTIONS_INIT;
    tw_thread id[COUNT];
    int i;
    options.workers = 1;
    EQUAL(tw_runtime_create(&threads, TW_MODEL_MN, &options), 0);
    for (i = 0; i < COUNT; i++)
        EQUAL(tw_thread_create(threads, &id[i], NULL, body, (void *)(intptr_t)i), 0);
    for (i = 0; i < COUNT; i++)
        EQUAL(tw_thread_join(threads, id[i], NULL), 0);
    for (i = 0; i < COUNT; i++)
        printf("thread %d: %d of %d bytes changed\n", i, at[i].wrong, DATA);
    return 0;
}
