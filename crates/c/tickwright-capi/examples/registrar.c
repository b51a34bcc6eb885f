/* A registrar, much like those of SIP. It stores which user is registered, and until when; requests
 * come over UDP on the loopback. One thread runs one poll loop. Each registration is a timer of one
 * scheduler: a refresh moves the timer, and its callback ends the registration.
 *
 *     registrar                  serves, and says on which port
 *     registrar --load N [MS]    serves in a child, registers N users there, refreshes some,
 *                                removes some, lets the rest expire (after MS, 300), and
 *                                verifies the counts
 *
 * Requests are datagrams of one line; a real registrar would parse SIP. Spans are in ms. Each
 * answer begins with the number of its request.
 *
 *     1 REGISTER alice 60000     -> 1 new, or refreshed, or removed (by 0 ms)
 *     2 EXPIRED 500              -> 2 counts of all, as soon as 500 registrations have expired
 *     3 QUIT                     -> 3 counts of all, and the end
 */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <tickwright.h>
#include <unistd.h>

enum { BUCKETS = 1 << 14, LINE = 160, AT_ONCE = 64, WINDOW = 32, MOST_USERS = 1000000 };

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- the registrar */

struct registration {
    struct registration *next; /* in its bucket */
    uint64_t timer;
    char user[32];
};

static struct registration *buckets[BUCKETS];
static tw_sched *sched;
static size_t registered, expired, early;
static uint64_t latest;

static struct registration **place_of(const char *user)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    struct registration **place;
    for (const char *c = user; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    place = &buckets[hash % BUCKETS];
    while (*place != NULL && strcmp((*place)->user, user) != 0)
        place = &(*place)->next;
    return place;
}

/* However a timer ends, its registration is gone with it. */
static void forget(void *data)
{
    struct registration *gone = data, **place = place_of(gone->user);
    *place = gone->next;
    free(gone);
    registered--;
}

static int64_t expire(void *data, const tw_firing *firing)
{
    (void)data;
    expired++;
    early += firing->now_ns < firing->due_ns;
    if (firing->now_ns - firing->due_ns > latest)
        latest = firing->now_ns - firing->due_ns;
    return 0;
}

static const char *handle(const char *user, int64_t span)
{
    struct registration **place = place_of(user), *new;
    if (*place != NULL) {
        uint64_t timer = (*place)->timer;
        if (span == 0)
            return tw_sched_cancel_sync(sched, timer) == TW_CANCEL_REMOVED ? "removed" : "failed";
        return tw_sched_arm(sched, timer, span) == 0 ? "refreshed" : "failed";
    }
    if (span == 0)
        return "removed";
    new = calloc(1, sizeof *new);
    if (new == NULL)
        return "failed";
    strcpy(new->user, user);
    tw_job job = { .size = sizeof job, .call = expire, .data = new, .cleanup = forget };
    job.timing.when_ns = span * 1000000;
    if (tw_sched_add_job(sched, &job, &new->timer) < 0) {
        free(new);
        return "failed";
    }
    *place = new;
    registered++;
    return "new";
}

static void answer(int fd, const struct sockaddr_in *to, const char *text)
{
    /* If this datagram is lost, the client sends its request again. */
    (void)!sendto(fd, text, strlen(text), 0, (const struct sockaddr *)to, sizeof *to);
}

static const char *counts(unsigned long number)
{
    static char text[LINE];
    tw_sched_counts counted = TW_SCHED_COUNTS_INIT;
    tw_sched_get_counts(sched, &counted);
    snprintf(text, sizeof text, "%lu %zu %zu %" PRIu64 " %" PRIu64 " %zu %" PRIu64, number, registered, expired, counted.pending,
             counted.high_water, early, latest / 1000);
    return text;
}

static void serve(int fd)
{
    struct sockaddr_in watcher = { 0 };
    unsigned long watch_number = 0;
    size_t watched = SIZE_MAX;
    int ended = 0;
    if (tw_sched_create(&sched, NULL) < 0)
        exit(1);
    while (!ended) {
        struct pollfd readable = { .fd = fd, .events = POLLIN };
        /* This thread alone arms timers. */
        if (poll(&readable, 1, tw_sched_timeout_ms(sched)) < 0)
            die("poll");
        for (int i = 0; i < AT_ONCE && !ended; i++) {
            char line[LINE], user[32], reply[LINE];
            struct sockaddr_in from;
            socklen_t size = sizeof from;
            unsigned long number;
            int64_t span;
            ssize_t length = recvfrom(fd, line, sizeof line - 1, MSG_DONTWAIT, (struct sockaddr *)&from, &size);
            if (length < 0)
                break;
            line[length] = '\0';
            if (sscanf(line, "%lu REGISTER %31s %" SCNd64, &number, user, &span) == 3 && span >= 0 && span < INT32_MAX) {
                snprintf(reply, sizeof reply, "%lu %s", number, handle(user, span));
                answer(fd, &from, reply);
            } else if (sscanf(line, "%lu EXPIRED %zu", &number, &watched) == 2) {
                watcher = from;
                watch_number = number;
            } else if (sscanf(line, "%lu %31s", &number, user) == 2 && strcmp(user, "QUIT") == 0) {
                answer(fd, &from, counts(number));
                ended = 1;
            }
        }
        tw_sched_run(sched, SIZE_MAX);
        if (expired >= watched) {
            answer(fd, &watcher, counts(watch_number));
            watched = SIZE_MAX;
        }
    }
    tw_sched_destroy(sched); /* and with it what is registered */
    if (registered != 0)
        exit(1);
}

/* ---- the load */

static unsigned long requests;

/* Sends requests and receives the answers, several at a time. If no answer comes, sends a request
 * again. `heard` gets the index of the request, and the answer. */
static void exchange(int fd, size_t n, void (*say)(size_t at, char line[LINE]), void (*heard)(size_t at, const char *answer))
{
    unsigned long first = requests;
    char *answered = calloc(n, 1), line[LINE], text[LINE];
    size_t sent = 0, done = 0, base = 0;
    if (answered == NULL)
        die("calloc");
    requests += n;
    while (done < n) {
        struct pollfd readable = { .fd = fd, .events = POLLIN };
        for (; sent < n && sent < base + WINDOW; sent++) {
            say(sent, line);
            snprintf(text, sizeof text, "%lu %.120s", first + sent, line);
            if (send(fd, text, strlen(text), 0) < 0)
                die("send");
        }
        /* On the loopback a datagram is lost only when a buffer is full. A registrar that is slow
         * must not get the same request twice: a registration might expire in between. */
        if (poll(&readable, 1, 20000) == 0) {
            sent = base;
            continue;
        }
        ssize_t length = recv(fd, line, sizeof line - 1, 0);
        unsigned long number;
        int skip = 0;
        if (length < 0)
            die("recv");
        line[length] = '\0';
        if (sscanf(line, "%lu %n", &number, &skip) != 1 || number < first || number - first >= n || answered[number - first])
            continue;
        answered[number - first] = 1;
        done++;
        heard(number - first, line + skip);
        while (base < n && answered[base])
            base++;
    }
    free(answered);
}

/* How the registration of user i ends. */
enum { SHORT, SHORTENED, KEPT, PROLONGED, REMOVED, KINDS };
static int64_t short_span = 300;
static const int64_t LONG = 3600000;
static size_t said_new, said_refreshed, said_removed, too_late, target;
static size_t final[6];

static void first_time(size_t i, char line[LINE])
{
    int short_lived = i % KINDS == SHORT || i % KINDS == PROLONGED;
    snprintf(line, LINE, "REGISTER user%zu %" PRId64, i, short_lived ? short_span : LONG);
}

static void second_time(size_t i, char line[LINE])
{
    static const char *const FORM[KINDS] = { NULL, "short", "long", "long", "none" };
    size_t user = i / (KINDS - 1) * KINDS + 1 + i % (KINDS - 1);
    const char *form = FORM[user % KINDS];
    int64_t span = *form == 's' ? short_span : *form == 'l' ? LONG : 0;
    snprintf(line, LINE, "REGISTER user%zu %" PRId64, user, span);
}

static void hear(size_t at, const char *said)
{
    (void)at;
    said_new += strcmp(said, "new") == 0;
    said_refreshed += strcmp(said, "refreshed") == 0;
    said_removed += strcmp(said, "removed") == 0;
}

static void hear_second(size_t at, const char *said)
{
    /* The registration had expired before its refresh came, so it counts as one more that has
     * expired. */
    too_late += strcmp(said, "new") == 0;
    hear(at, said);
}

static void wait_for_target(size_t at, char line[LINE])
{
    (void)at;
    snprintf(line, LINE, "EXPIRED %zu", target);
}

static void quit(size_t at, char line[LINE])
{
    (void)at;
    snprintf(line, LINE, "QUIT");
}

static void hear_counts(size_t at, const char *said)
{
    (void)at;
    if (sscanf(said, "%zu %zu %zu %zu %zu %zu", &final[0], &final[1], &final[2], &final[3], &final[4], &final[5]) != 6)
        exit(1);
}

static int load(int fd, size_t n)
{
    size_t each = n / KINDS, left = 2 * each;
    exchange(fd, each * KINDS, first_time, hear);
    size_t first_new = said_new;
    exchange(fd, each * (KINDS - 1), second_time, hear_second);
    target = 2 * each + too_late;
    exchange(fd, 1, wait_for_target, hear_counts);
    exchange(fd, 1, quit, hear_counts);
    printf("registered %zu, refreshed %zu, removed %zu, expired %zu; left %zu, pending %zu; at most %zu at a time, late by at most %zu us\n",
           first_new, said_refreshed, said_removed, final[1], final[0], final[2], final[3], final[5]);
    return first_new == each * KINDS && said_refreshed + too_late == 3 * each && said_removed == each && final[0] == left &&
                   final[1] == target && final[2] == left && final[3] <= n && final[4] == 0
               ? 0
               : 1;
}

static int loopback(struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    socklen_t size = sizeof *at;
    memset(at, 0, sizeof *at);
    at->sin_family = AF_INET;
    at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)at, sizeof *at) < 0 || getsockname(fd, (struct sockaddr *)at, &size) < 0)
        die("socket");
    return fd;
}

int main(int argc, char **argv)
{
    struct sockaddr_in server, client;
    int fd = loopback(&server), status, result;
    long n = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    if (argc == 1) {
        printf("port %d\n", ntohs(server.sin_port));
        fflush(stdout);
        serve(fd);
        return 0;
    }
    if (argc > 3)
        short_span = strtol(argv[3], NULL, 10);
    if (strcmp(argv[1], "--load") != 0 || argc > 4 || n < KINDS || n > MOST_USERS || short_span < 1 || short_span > LONG) {
        fprintf(stderr, "usage: registrar [--load N (%d to %d) [MS]]\n", KINDS, MOST_USERS);
        return 2;
    }
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0) {
        serve(fd);
        return 0;
    }
    close(fd);
    fd = loopback(&client);
    if (connect(fd, (struct sockaddr *)&server, sizeof server) < 0)
        die("connect");
    result = load(fd, (size_t)n);
    if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        result = 1;
    if (result != 0)
        fprintf(stderr, "registrar: the counts are wrong\n");
    return result;
}
