/* One script, and the same log from every exact family; the coarse wheel within its bound. Ends
 * of the range, and clocks that go back. */
#include "check.h"

enum { TIMERS = 200, STEPS = 20000 };

struct log {
    uint64_t fold;
    size_t events;
    uint64_t deadlines[TIMERS];
    uint64_t delays[TIMERS]; /* from the queue's now */
    size_t late;
    int coarse;
};

static void note(struct log *log, uint64_t value)
{
    log->fold = (log->fold ^ value) * UINT64_C(0x100000001b3);
    log->events++;
}

static tw_timer timers[TIMERS];

static void fire(const tw_expired *fired, void *user)
{
    struct log *log = (struct log *)user;
    size_t id = (size_t)(fired->timer - timers);
    CHECK(id < TIMERS);
    CHECK(fired->expiry >= fired->deadline);
    CHECK(fired->deadline == log->deadlines[id]);
    if (log->coarse) {
        uint64_t delay = log->delays[id], late = fired->expiry - fired->deadline;
        CHECK(late <= (delay < 63 ? delay > 0 : delay / 63 * 8 + delay % 63 * 8 / 63));
        log->late += late > 0;
    } else {
        CHECK(fired->expiry == fired->deadline);
    }
    note(log, id);
    note(log, fired->expiry);
}

static void count(const tw_expired *fired, void *user)
{
    (void)fired;
    ((struct log *)user)->events++;
}

static struct log run(tw_family family, uint64_t begin, uint64_t spread)
{
    struct log log = { 0, 0, { 0 }, { 0 }, 0, family == TW_FAMILY_COARSE };
    uint64_t random = 88172645463325252u, now = begin, told;
    void *memory;
    tw_queue *queue = new_queue(family, TIMERS, &memory);
    int step, result;
    tw_expired fired = TW_EXPIRED_INIT;
    for (step = 0; step < TIMERS; step++)
        EQUAL(tw_timer_init(&timers[step]), 0);
    EQUAL(tw_queue_pop_expired(queue, begin, NULL), 0);
    for (step = 0; step < STEPS; step++) {
        uint64_t what = next_random(&random) % 8, id = next_random(&random) % TIMERS;
        uint64_t delay = next_random(&random) % spread;
        uint64_t deadline = now + delay < now ? UINT64_MAX : now + delay;
        if (delay % 32 == 0)
            deadline = delay % 64 ? 0 : UINT64_MAX; /* past, and the end of time */
        if (what < 4) {
            result = tw_queue_insert(queue, &timers[id], deadline);
            if (result == -EALREADY)
                result = tw_queue_reschedule(queue, &timers[id], deadline);
            CHECK(result >= 0);
            log.deadlines[id] = deadline < now ? now : deadline;
            log.delays[id] = log.deadlines[id] - now;
        } else if (what == 4) {
            result = tw_queue_remove(queue, &timers[id]);
            if (!log.coarse)
                note(&log, (uint64_t)(result >= 0));
            CHECK(result >= 0 || result == -ENOENT);
        } else if (what == 5) {
            now = now + delay / 4 < now ? UINT64_MAX : now + delay / 4;
            if (tw_queue_pop_expired(queue, now, &fired))
                fire(&fired, &log);
        } else if (what == 6) {
            EQUAL(tw_queue_advance(queue, now, SIZE_MAX, fire, &log, NULL), 0);
        } else { /* the clock goes back: nothing happens, and now stays */
            EQUAL(tw_queue_advance(queue, delay % 2 ? 0 : now - now / 2, 0, fire, &log, NULL) < 0, 0);
            EQUAL(tw_queue_now(queue, &told), 0);
            CHECK(told == now);
        }
        if (step % 64 == 0)
            EQUAL(tw_queue_check(queue, NULL, 0), 0);
    }
    EQUAL(tw_queue_advance(queue, UINT64_MAX, SIZE_MAX, fire, &log, NULL), 0);
    EQUAL(tw_queue_len(queue), 0);
    end_queue(queue, memory);
    return log;
}

static void same_everywhere(uint64_t begin, uint64_t spread)
{
    struct log first = run(FAMILIES[0], begin, spread);
    int i;
    CHECK(first.events > 1000);
    for (i = 1; i < FAMILY_COUNT; i++) {
        struct log other = run(FAMILIES[i], begin, spread);
        if (FAMILIES[i] == TW_FAMILY_COARSE) {
            CHECK(spread < 1000 || other.late > 100); /* so the bound says something */
            continue;
        }
        CHECK(other.fold == first.fold);
        EQUAL(other.events, first.events);
    }
}

/* The ends of the range are ordinary deadlines. */
static void extremes(tw_family family)
{
    static const uint64_t deadlines[] = { 0, 1, (uint64_t)1 << 31, (uint64_t)1 << 32, ((uint64_t)1 << 58) - 1,
                                          (uint64_t)1 << 63, UINT64_MAX - 1, UINT64_MAX };
    enum { COUNT = sizeof deadlines / sizeof *deadlines };
    tw_timer mine[COUNT] = { TW_TIMER_INIT };
    tw_expired fired = TW_EXPIRED_INIT;
    uint64_t tick;
    void *memory;
    tw_queue *queue = new_queue(family, COUNT, &memory);
    int i;
    for (i = 0; i < COUNT; i++) {
        /* Backwards; but in one bucket of the coarse wheel they would leave so. */
        int at = family == TW_FAMILY_COARSE ? i : COUNT - 1 - i;
        CHECK(tw_queue_insert(queue, &mine[at], deadlines[at]) >= 0);
    }
    for (i = 0; i < COUNT; i++) {
        EQUAL(tw_queue_next_expiry(queue, &tick), 1);
        CHECK(tick >= deadlines[i]);
        EQUAL(tw_queue_pop_expired(queue, tick, &fired), 1);
        CHECK(fired.timer == &mine[i] && fired.deadline >= deadlines[i] && fired.expiry == tick);
    }
    EQUAL(tw_queue_pop_expired(queue, UINT64_MAX, &fired), 0);
    EQUAL(tw_queue_now(queue, &tick), 0);
    CHECK(tick >= UINT64_MAX - 1);
    /* At the last tick every timer is due. */
    EQUAL(tw_queue_pop_expired(queue, UINT64_MAX, NULL), 0);
    EQUAL(tw_queue_insert(queue, &mine[0], 5), 1);
    EQUAL(tw_queue_pop_expired(queue, 0, &fired), 1);
    CHECK(fired.deadline == UINT64_MAX && fired.expiry == UINT64_MAX);
    end_queue(queue, memory);
}

/* An advance counts the timers that it moves, and takes them from the budget. Only wheels move
 * timers. */
static void budgets(tw_family family)
{
    enum { COUNT = 100 };
    tw_timer mine[COUNT] = { TW_TIMER_INIT };
    tw_advance done = TW_ADVANCE_INIT;
    size_t delivered = 0, moved = 0;
    struct log log = { 0, 0, { 0 }, { 0 }, 0, 0 };
    void *memory;
    tw_queue *queue = new_queue(family, COUNT, &memory);
    int i, more = 1;
    for (i = 0; i < COUNT; i++)
        EQUAL(tw_queue_insert(queue, &mine[i], ((uint64_t)1 << 20) + (uint64_t)i) < 0, 0);
    while (more) {
        more = tw_queue_advance(queue, (uint64_t)1 << 24, 7, count, &log, &done);
        CHECK(more >= 0 && done.delivered + done.moved <= 7);
        CHECK(!more || done.delivered + done.moved == 7);
        delivered += done.delivered;
        moved += done.moved;
    }
    EQUAL(delivered, COUNT);
    EQUAL(log.events, COUNT);
    EQUAL(moved > 0, family == TW_FAMILY_WHEEL);
    end_queue(queue, memory);
}

/* The program was up for `uptime` ms when it armed its first timer, and then slept. It tells the
 * queue the time, so lateness counts from the program's time. Timers that are due stay pending. */
static void told_the_time(tw_family family, uint64_t uptime, uint64_t pause)
{
    static const uint64_t delays[] = { 1, 62, 63, 200, 504, 1000, 60000, 3600000 };
    enum { COUNT = sizeof delays / sizeof *delays };
    tw_timer first = TW_TIMER_INIT, mine[COUNT] = { TW_TIMER_INIT };
    tw_expired fired = TW_EXPIRED_INIT;
    uint64_t now = uptime, tick;
    void *memory;
    tw_queue *queue = new_queue(family, COUNT + 1, &memory);
    int i;
    EQUAL(tw_queue_update_now(queue, now), 0);
    EQUAL(tw_queue_insert(queue, &first, now + 1), 1);
    for (i = 0; i < COUNT; i++)
        CHECK(tw_queue_insert(queue, &mine[i], now + 2000) >= 0);
    now += pause;
    EQUAL(tw_queue_update_now(queue, now), 0);
    EQUAL(tw_queue_update_now(queue, 0), 0); /* never back */
    EQUAL(tw_queue_now(queue, &tick), 0);
    CHECK(tick == now);
    EQUAL(tw_queue_len(queue), COUNT + 1);
    for (i = 0; i < COUNT; i++) {
        uint64_t delay = delays[i], late = delay < 63 ? 1 : delay * 8 / 63;
        if (i % 2) {
            CHECK(tw_queue_reschedule(queue, &mine[i], now + delay) >= 0);
        } else {
            CHECK(tw_queue_remove(queue, &mine[i]) >= 0);
            CHECK(tw_queue_insert(queue, &mine[i], now + delay) >= 0);
        }
        EQUAL(tw_queue_expiry(queue, &mine[i], &tick), 0);
        CHECK(tick >= now + delay);
        CHECK(tick <= now + delay + (family == TW_FAMILY_COARSE ? late : 0));
    }
    EQUAL(tw_queue_check(queue, NULL, 0), 0);
    EQUAL(tw_queue_pop_expired(queue, now + 1, &fired), 1);
    CHECK(fired.timer == &first);
    end_queue(queue, memory);
}

int main(void)
{
    static const uint64_t uptimes[] = { 1000, 3388000, 3600000, 198000000, 360000000 };
    static const uint64_t pauses[] = { 1, 200, 12000, 600000, 3600000 };
    int i, up, pause;
    same_everywhere(0, 50);
    same_everywhere(0, 1000000);
    same_everywhere((uint64_t)1 << 31, 3000);
    same_everywhere(((uint64_t)1 << 32) - 1000, 3000);
    same_everywhere(UINT64_MAX - 200000, 3000);
    for (i = 0; i < FAMILY_COUNT; i++)
        extremes(FAMILIES[i]);
    for (i = 0; i < FAMILY_COUNT; i++)
        budgets(FAMILIES[i]);
    for (i = 0; i < FAMILY_COUNT; i++)
        for (up = 0; up < 5; up++)
            for (pause = 0; pause < 5; pause++)
                told_the_time(FAMILIES[i], uptimes[up], pauses[pause]);
    return 0;
}
