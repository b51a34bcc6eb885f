/* The same adds, re-arms and deletes of N timers through several libraries, in rounds of random
 * order; JSON on standard output.
 *
 *     peers [--n 100,1000,10000] [--rounds 9] [--seed 1]
 * Delays are uniform from 1 to 60,000 ms, as in Asterisk's experiment of 2009; adds and deletes go
 * by number, re-arms in random order. Before the measurement, each library must count its timers
 * right and fire a small sample in order. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "peer.h"

static const struct peer *const PEERS[] = {
    &tickwright_wheel, &tickwright_heap4, &tickwright_sched, &tickwright_sched_since, &tickwright_kept, &tickwright_kept_since,
    &tickwright_own_since, &tickwright_own_kept_since, &libuv, &libevent, &libevent_locked, &libev,
};
enum { PEER_COUNT = sizeof PEERS / sizeof *PEERS, OPERATIONS = 3, MOST_SIZES = 16, MOST_ROUNDS = 1000, SAMPLE = 200 };
static const char *const OPERATION_NAMES[OPERATIONS] = { "add", "rearm", "del" };
enum { LONGEST_MS = 60000, MOST_TIMERS = 16777216 };

static void fail(const char *peer, const char *what)
{
    fprintf(stderr, "peers: %s: %s\n", peer, what);
    exit(1);
}

static void usage(const char *what)
{
    fprintf(stderr, "peers: %s\nusage: peers [--n N,N,... (1 to %d)] [--rounds R (1 to %d)] [--seed S]\n", what,
            MOST_TIMERS, MOST_ROUNDS);
    exit(2);
}

static uint64_t random_state;

/* Xorshift, after Marsaglia 2003. */
static uint64_t next_random(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % below;
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The work of one size: the same for every library. */
struct work {
    const struct peer *peer;
    size_t n;
    uint64_t *delays, *later;
    uint32_t *order;
    uint64_t ns[OPERATIONS];
};

static void *room(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL)
        fail("driver", "no memory");
    return memory;
}

static void prepare(struct work *work, size_t n)
{
    work->n = n;
    work->delays = room(n, sizeof *work->delays);
    work->later = room(n, sizeof *work->later);
    work->order = room(n, sizeof *work->order);
    for (size_t i = 0; i < n; i++) {
        work->delays[i] = 1 + next_random(LONGEST_MS);
        work->later[i] = 1 + next_random(LONGEST_MS);
        work->order[i] = (uint32_t)i;
    }
    for (size_t i = n; i > 1; i--) {
        size_t other = next_random(i);
        uint32_t kept = work->order[i - 1];
        work->order[i - 1] = work->order[other];
        work->order[other] = kept;
    }
}

static void measured(void *argument)
{
    struct work *work = argument;
    const struct peer *peer = work->peer;
    uint64_t begun = now_ns();
    peer->add(work->delays, work->n);
    uint64_t added = now_ns();
    if (peer->armed(work->n) != work->n)
        fail(peer->name, "not all timers are armed after the adds");
    uint64_t resumed = now_ns();
    peer->rearm(work->order, work->later, work->n);
    uint64_t rearmed = now_ns();
    if (peer->armed(work->n) != work->n)
        fail(peer->name, "not all timers are armed after the re-arms");
    uint64_t last = now_ns();
    peer->del(work->n);
    uint64_t ended = now_ns();
    if (peer->armed(work->n) != 0)
        fail(peer->name, "timers are armed after the deletes");
    work->ns[0] = added - begun;
    work->ns[1] = rearmed - resumed;
    work->ns[2] = ended - last;
}

static void with_peer(const struct peer *peer, size_t n, void (*call)(void *), void *argument)
{
    if (peer->setup(n) != 0)
        fail(peer->name, "could not be set up");
    if (peer->inside != NULL)
        peer->inside(call, argument);
    else
        call(argument);
}

/* A sample of timers that really fire. Each timer must fire once, and none before a timer with a
 * shorter delay. If each add reads the clock, a timer may fire after an earlier added one with a
 * longer delay. The difference of their delays is then at most the time that the adds took. */
static uint64_t sample_delays[SAMPLE], sample_last, sample_slack_ms;
static size_t sample_fired[SAMPLE], sample_count;
static const char *sample_name;

static void sampled(size_t timer)
{
    if (timer >= SAMPLE || sample_fired[timer]++ != 0)
        fail(sample_name, "a timer fired that was not armed");
    if (sample_delays[timer] + sample_slack_ms < sample_last)
        fail(sample_name, "a timer fired before one with a shorter delay");
    if (sample_delays[timer] > sample_last)
        sample_last = sample_delays[timer];
    sample_count++;
}

static void arm_sample(void *argument)
{
    const struct peer *peer = argument;
    uint64_t begun = now_ns();
    peer->add(sample_delays, SAMPLE);
    sample_slack_ms = peer->clock_per_add ? (now_ns() - begun + 999999) / 1000000 : 0;
}

static void fires_in_order(const struct peer *peer)
{
    sample_name = peer->name;
    sample_count = sample_last = 0;
    memset(sample_fired, 0, sizeof sample_fired);
    for (size_t i = 0; i < SAMPLE; i++)
        sample_delays[i] = 1 + next_random(20);
    with_peer(peer, SAMPLE, arm_sample, (void *)peer);
    peer->run(sampled);
    if (sample_count != SAMPLE)
        fail(peer->name, "not every timer of the sample fired");
    peer->teardown();
}

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || (*end != '\0' && *end != ',') || *text == '-' || value < least || value > most)
        usage(text);
    return value;
}

int main(int argc, char **argv)
{
    size_t sizes[MOST_SIZES] = { 100, 1000, 10000, 100000 }, size_count = 4, rounds = 9;
    uint64_t seed = 1;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            usage(argv[i]);
        if (strcmp(argv[i], "--rounds") == 0) {
            rounds = number(argv[i + 1], 1, MOST_ROUNDS);
        } else if (strcmp(argv[i], "--seed") == 0) {
            seed = number(argv[i + 1], 0, UINT64_MAX);
        } else if (strcmp(argv[i], "--n") == 0) {
            size_count = 0;
            for (const char *text = argv[i + 1]; text != NULL; text = strchr(text, ',')) {
                text += *text == ',';
                if (size_count == MOST_SIZES)
                    usage("too many sizes");
                sizes[size_count++] = number(text, 1, MOST_TIMERS);
            }
        } else {
            usage(argv[i]);
        }
    }
    random_state = seed * 2654435769u + 88172645463325252u;

    printf("{\n  \"schema\": 1,\n  \"seed\": %" PRIu64 ",\n  \"rounds\": %zu,\n  \"skipped\": [", seed, rounds);
    const char *comma = "";
    for (size_t i = 0; i < PEER_COUNT; i++) {
        if (PEERS[i]->missing != NULL) {
            fprintf(stderr, "peers: %s skipped: %s\n", PEERS[i]->name, PEERS[i]->missing);
            printf("%s\n    { \"peer\": \"%s\", \"why\": \"%s\" }", comma, PEERS[i]->name, PEERS[i]->missing);
            comma = ",";
        } else {
            fires_in_order(PEERS[i]);
        }
    }
    printf("\n  ],\n  \"samples\": [");
    comma = "";
    for (size_t size = 0; size < size_count; size++) {
        struct work work;
        prepare(&work, sizes[size]);
        for (size_t round = 0; round < rounds; round++) {
            size_t turns[PEER_COUNT];
            for (size_t i = 0; i < PEER_COUNT; i++)
                turns[i] = i;
            for (size_t i = PEER_COUNT; i > 1; i--) {
                size_t other = next_random(i), kept = turns[i - 1];
                turns[i - 1] = turns[other];
                turns[other] = kept;
            }
            for (size_t i = 0; i < PEER_COUNT; i++) {
                work.peer = PEERS[turns[i]];
                if (work.peer->missing != NULL)
                    continue;
                with_peer(work.peer, work.n, measured, &work);
                work.peer->teardown();
                for (int operation = 0; operation < OPERATIONS; operation++) {
                    printf("%s\n    { \"peer\": \"%s\", \"n\": %zu, \"round\": %zu, \"clock\": \"%s\", \"lock\": %s, \"operation\": \"%s\", \"ns_per_operation\": %.2f }",
                           comma, work.peer->name, work.n, round, work.peer->clock_per_add ? "each call" : "cached",
                           work.peer->locks ? "true" : "false", OPERATION_NAMES[operation],
                           (double)work.ns[operation] / (double)work.n);
                    comma = ",";
                }
            }
        }
        free(work.delays);
        free(work.later);
        free(work.order);
    }
    printf("\n  ]\n}\n");
    return 0;
}
