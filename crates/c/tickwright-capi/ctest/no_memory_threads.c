/* Memory and kernel threads run out at each request in turn, in each model: a runtime is made whole
 * or refused, a thread is created or not, and a wait ends as it should. */
#define REFUSALS \
    { "tw_runtime_create", ENOMEM }, \
    { "tw_runtime_create", EAGAIN }, \
    { "tw_thread_create", ENOMEM }, \
    { "tw_thread_wait_readable", ENOMEM }, \
    { "tw_thread_wait_writable", ENOMEM }, \
    { "tw_mutex_create", ENOMEM }, \
    { "tw_cond_create", ENOMEM }, \
    { "tw_mailbox_create", ENOMEM }, \
    { "tw_mailbox_send", ENOMEM }, \
    { "tw_mailbox_trysend", ENOMEM }, \
    { "tw_key_create", ENOMEM }, \
    { "tw_key_set", ENOMEM }
#include "refusals.h"

#include "models.h"

#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

struct choice {
    tw_model model;
    size_t workers;
};

/* M:N last: some tools do not know its stacks. */
static const struct choice CHOICES[] = {
    { TW_MODEL_ONE_TO_ONE, TW_DEFAULT },
    { TW_MODEL_MN, 3 },
    { TW_MODEL_MN, TW_DEFAULT },
};

static size_t choices(void)
{
    return stacks_may_switch() ? sizeof CHOICES / sizeof *CHOICES : 1;
}

static void *same(void *argument)
{
    return argument;
}

/* The kernel threads of this process; 1 where the system does not say. */
static int kernel_threads_now(void)
{
    DIR *all = opendir("/proc/self/task");
    int count = -2;
    if (all == NULL)
        return 1;
    while (readdir(all) != NULL)
        count++;
    closedir(all);
    return count;
}

/* Waits until this thread is the only one, since the system shows a joined thread a little
 * longer. */
static void until_alone(void)
{
    while (kernel_threads_now() > 1)
        sched_yield();
}

/* The results of a test in a child. */
struct found {
    int refused;   /* the call under test was refused */
    int reached;   /* requests of the library that failed */
    int elsewhere; /* of these, on threads of the library's own */
};

typedef struct found (*test_fn)(const struct choice *, struct supply *);

/* Runs a test in a child, in which the library has kept nothing from earlier calls. Request n of a
 * supply fails, and those after it unless `once`. A child that is done is killed, since valgrind
 * would count its copy of the parent's memory as lost. */
static struct found in_a_child(test_fn test, const struct choice *choice, struct supply *from, long n, int once)
{
    struct found found = { 0, 0, 0 };
    int status, done[2];
    pid_t child;
    ssize_t length;
    EQUAL(pipe(done), 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        main_thread = pthread_self();
        from->once = once;
        WRITE(from->granted, n);
        found = test(choice, from);
        CHECK(write(done[1], &found, sizeof found) == (ssize_t)sizeof found);
        kill(getpid(), SIGKILL);
    }
    close(done[1]);
    length = read(done[0], &found, sizeof found);
    close(done[0]);
    CHECK(waitpid(child, &status, 0) == child);
    if (length != (ssize_t)sizeof found) {
        fprintf(stderr, "model %d, %zu workers: request %ld refused %s: the child ended with %#x\n", (int)choice->model,
                choice->workers, n, once ? "once" : "and all later ones", (unsigned)status);
        exit(1);
    }
    return found;
}

/* Returns the requests of a supply after the calls under test. From now on the supply has no
 * limit. */
static struct found what_was_found(int refused, struct supply *from)
{
    struct found found;
    WRITE(from->granted, -1L);
    found.refused = refused;
    found.reached = READ(from->refused);
    found.elsewhere = READ(from->elsewhere);
    return found;
}

/* Makes each request of a test fail, from the first to the last: alone, and with all later ones. */
static struct found each_request(test_fn test, const struct choice *choice, struct supply *from)
{
    struct found sum = { 0, 0, 0 };
    int once;
    for (once = 0; once < 2; once++) {
        long n;
        for (n = 0;; n++) {
            struct found found = in_a_child(test, choice, from, n, once);
            CHECK(n < 20000);
            CHECK(!once || found.reached <= 1);
            if (found.reached == 0) {
                EQUAL(found.refused, 0);
                break;
            }
            sum.refused += found.refused;
            sum.reached++;
            sum.elsewhere += found.elsewhere > 0;
        }
        CHECK(n > 0);
    }
    return sum;
}

/* A runtime is made whole; or it is refused, and none of its threads is left. */
static struct found a_runtime(const struct choice *choice, struct supply *from)
{
    tw_runtime *runtime = (tw_runtime *)&from;
    tw_thread thread;
    int result = noted("tw_runtime_create", create_runtime(&runtime, choice->model, choice->workers));
    struct found found = what_was_found(result != 0, from);
    if (result != 0) {
        EQUAL(result, from == &memory ? -ENOMEM : -EAGAIN);
        CHECK(runtime == NULL && found.reached > 0);
        until_alone();
        EQUAL(create_runtime(&runtime, choice->model, choice->workers), 0);
    }
    EQUAL(tw_thread_create(runtime, &thread, NULL, same, NULL), 0);
    EQUAL(tw_thread_join(runtime, thread, NULL), 0);
    EQUAL(tw_runtime_destroy(runtime), 0);
    until_alone();
    return found;
}

static void runtimes(void)
{
    size_t i;
    for (i = 0; i < choices(); i++) {
        struct found found = each_request(a_runtime, &CHOICES[i], &memory);
        CHECK(found.refused > 0 && found.refused < found.reached);
        /* The control: some of what fails is asked for by the workers. */
        EQUAL(found.elsewhere > 0, CHOICES[i].model != TW_MODEL_ONE_TO_ONE);
        if (CHOICES[i].model != TW_MODEL_ONE_TO_ONE) {
            found = each_request(a_runtime, &CHOICES[i], &kernel_threads);
            EQUAL(found.refused, found.reached);
        }
    }
}

enum { BUSY = 3 };

/* The objects at which the threads meet. */
static struct {
    tw_runtime *runtime;
    tw_mutex *mutex;
    tw_cond *cond;
    tw_mailbox *mailbox;
    tw_key *key;
    tw_thread joined;
    int ends[2];
    int begun, begins, counted, arrived, refused, cleaned;
} place;

static void count_up(void *value)
{
    COUNT_UP(*(int *)value);
}

/* A call that may return that no memory is left. */
static int is_done(const char *function, int result)
{
    noted(function, result);
    CHECK(result == 0 || result == -ENOMEM);
    if (result != 0)
        COUNT_UP(place.refused);
    return result == 0;
}

/* Each call in which a thread waits or has memory of its own. */
static void *busy(void *argument)
{
    void *letter;
    int i, result, sent = 0, set;
    COUNT_UP(place.begun);
    while (!READ(place.begins))
        tw_thread_yield();
    for (i = 0; i < 5; i++) {
        EQUAL(tw_mutex_lock(place.mutex), 0);
        place.counted++;
        tw_thread_sleep(100000);
        EQUAL(tw_mutex_unlock(place.mutex), 0);
    }
    set = is_done("tw_key_set", tw_key_set(place.key, &place.cleaned));
    EQUAL(tw_key_get(place.key, &letter), 0);
    CHECK(letter == (set ? &place.cleaned : NULL));
    is_done("tw_thread_wait_readable", tw_thread_wait_readable(place.ends[0]));
    is_done("tw_thread_wait_writable", tw_thread_wait_writable(place.ends[1]));
    EQUAL(tw_thread_unpark(place.runtime, tw_thread_self()), 0);
    tw_thread_park();
    EQUAL(tw_mutex_lock(place.mutex), 0);
    place.arrived++;
    EQUAL(tw_cond_broadcast(place.cond), 0);
    while (place.arrived < BUSY)
        EQUAL(tw_cond_wait(place.cond, place.mutex), 0);
    result = tw_cond_wait_for(place.cond, place.mutex, 300000);
    CHECK(result == 0 || result == -ETIMEDOUT);
    EQUAL(tw_mutex_unlock(place.mutex), 0);
    sent = is_done("tw_mailbox_send", tw_mailbox_send(place.mailbox, argument));
    result = tw_mailbox_receive_for(place.mailbox, &letter, 300000);
    CHECK(result == 0 || result == -ETIMEDOUT);
    return (void *)(intptr_t)(1 + 2 * sent + 4 * (result == 0) + 8 * set);
}

static struct found waits(const struct choice *choice, struct supply *from)
{
    tw_thread threads[BUSY];
    int i, result, joined = 0, sent = 0, received = 0, set = 0;
    long n = READ(from->granted);
    struct found found;
    WRITE(from->granted, -1L);
    EQUAL(create_runtime(&place.runtime, choice->model, choice->workers), 0);
    EQUAL(tw_mutex_create(&place.mutex), 0);
    EQUAL(tw_cond_create(&place.cond), 0);
    EQUAL(tw_mailbox_create(&place.mailbox, BUSY), 0);
    EQUAL(tw_key_create(&place.key, count_up), 0);
    EQUAL(pipe(place.ends), 0);
    CHECK(write(place.ends[1], "x", 1) == 1);
    for (i = 0; i < BUSY; i++)
        EQUAL(tw_thread_create(place.runtime, &threads[i], NULL, busy, NULL), 0);
    /* Without memory an M:N thread waits to begin until there is some. */
    while (READ(place.begun) < BUSY)
        sched_yield();
    WRITE(from->granted, n);
    WRITE(place.begins, 1);
    EQUAL(tw_mutex_lock(place.mutex), 0);
    place.counted++;
    EQUAL(tw_mutex_unlock(place.mutex), 0);
    while (joined < BUSY) {
        void *value = NULL;
        uint64_t now;
        EQUAL(tw_runtime_now(place.runtime, &now), 0);
        result = tw_thread_timedjoin(place.runtime, threads[joined], &value, now + 200000);
        if (result == -ETIMEDOUT)
            result = tw_thread_join(place.runtime, threads[joined], &value);
        EQUAL(result, 0);
        CHECK((intptr_t)value & 1);
        sent += ((intptr_t)value & 2) != 0;
        received += ((intptr_t)value & 4) != 0;
        set += ((intptr_t)value & 8) != 0;
        joined++;
    }
    found = what_was_found(READ(place.refused) > 0, from);
    EQUAL(place.counted, 5 * BUSY + 1);
    EQUAL(tw_mailbox_len(place.mailbox), sent - received);
    EQUAL(tw_runtime_destroy(place.runtime), 0);
    EQUAL(READ(place.cleaned), set);
    EQUAL(tw_mailbox_destroy(place.mailbox), 0);
    EQUAL(tw_cond_destroy(place.cond), 0);
    EQUAL(tw_mutex_destroy(place.mutex), 0);
    EQUAL(tw_key_destroy(place.key), 0);
    return found;
}

static void all_waits(void)
{
    size_t i;
    for (i = 0; i < choices(); i++) {
        struct found found = each_request(waits, &CHOICES[i], &memory);
        CHECK(found.refused > 0 && found.elsewhere > 0);
    }
}

enum { LOCKS, RECEIVES, JOINS, WAYS };
static const uint64_t MINUTE = 60000000000u;

/* A thread that no runtime knows. */
static void *unknown(void *way)
{
    void *value = NULL;
    uint64_t now;
    WRITE(memory.granted, 0L);
    switch (*(int *)way) {
    case LOCKS:
        EQUAL(tw_mutex_lock(place.mutex), 0);
        EQUAL(tw_mutex_unlock(place.mutex), 0);
        break;
    case RECEIVES:
        EQUAL(tw_mailbox_receive(place.mailbox, &value), 0);
        CHECK(value == &place);
        break;
    case JOINS:
        EQUAL(tw_runtime_now(place.runtime, &now), 0);
        EQUAL(tw_thread_timedjoin(place.runtime, place.joined, &value, now + MINUTE), 0);
        CHECK(value == &place);
        break;
    }
    return NULL;
}

static void *ends_later(void *argument)
{
    while (!READ(place.begins))
        sched_yield();
    return argument;
}

static int way_to_wait;

/* The first request of a wait is for the place where others wake the thread. It fails, and all
 * later ones succeed. No other thread waits before, since that would make room for all places. */
static struct found without_a_place(const struct choice *choice, struct supply *from)
{
    pthread_t thread;
    struct found found;
    WRITE(from->granted, -1L);
    EQUAL(create_runtime(&place.runtime, choice->model, choice->workers), 0);
    EQUAL(tw_mutex_create(&place.mutex), 0);
    EQUAL(tw_mailbox_create(&place.mailbox, 1), 0);
    EQUAL(tw_mutex_lock(place.mutex), 0);
    EQUAL(tw_thread_create(place.runtime, &place.joined, NULL, ends_later, &place), 0);
    EQUAL(pthread_create(&thread, NULL, unknown, &way_to_wait), 0);
    while (READ(from->refused) == 0)
        sched_yield();
    poll(NULL, 0, 20); /* until it sleeps */
    WRITE(place.begins, 1);
    if (way_to_wait == RECEIVES)
        EQUAL(tw_mailbox_send(place.mailbox, &place), 0);
    EQUAL(tw_mutex_unlock(place.mutex), 0);
    EQUAL(pthread_join(thread, NULL), 0);
    found = what_was_found(0, from);
    if (way_to_wait != JOINS)
        EQUAL(tw_thread_join(place.runtime, place.joined, NULL), 0);
    EQUAL(tw_runtime_destroy(place.runtime), 0);
    EQUAL(tw_mailbox_destroy(place.mailbox), 0);
    EQUAL(tw_mutex_destroy(place.mutex), 0);
    return found;
}

/* Nobody can wake a thread without a place. It sees the change all the same. */
static void waits_without_a_place(void)
{
    for (way_to_wait = 0; way_to_wait < WAYS; way_to_wait++) {
        struct found found = in_a_child(without_a_place, &CHOICES[0], &memory, 0, 1);
        EQUAL(found.elsewhere, 1);
    }
}

/* Creating threads needs memory of several kinds, and on a refusal there is no thread. */
static void threads(void)
{
    static const tw_model MODELS[] = { TW_MODEL_ONE_TO_ONE, TW_MODEL_MN };
    static const char *const NAMES[] = { NULL, "with a name" };
    int i, grants, refusals, named;
    for (i = 0; i < (stacks_may_switch() ? 2 : 1); i++) {
        for (named = 0; named < 2; named++) {
            tw_runtime *runtime = NULL;
            tw_thread_options attr;
            EQUAL(create_runtime(&runtime, MODELS[i], 2), 0);
            EQUAL(tw_thread_options_init(&attr, sizeof attr), 0);
            attr.name = NAMES[named];
            for (grants = refusals = 0; grants < 30; grants++) {
                tw_thread thread = 0;
                void *value = NULL;
                int result;
                grant_only(grants);
                result = noted("tw_thread_create", tw_thread_create(runtime, &thread, &attr, same, &grants));
                grant_all();
                if (result != 0) {
                    EQUAL(result, -ENOMEM);
                    EQUAL(thread, 0);
                    refusals++;
                    continue;
                }
                EQUAL(tw_thread_join(runtime, thread, &value), 0);
                CHECK(value == &grants);
            }
            CHECK(refusals > 0 && refusals < 30);
            EQUAL(tw_runtime_len(runtime), 0);
            EQUAL(tw_runtime_destroy(runtime), 0);
        }
    }
}

/* What threads meet at: each is made, or is refused, and a value is kept, or is not. */
static void meetings(void)
{
    int grants, refusals = 0, done = 0;
    for (grants = 0; done < 3; grants++) {
        tw_mutex *mutex = NULL;
        tw_cond *cond = NULL;
        tw_mailbox *mailbox = NULL;
        tw_key *key = NULL;
        void *value = NULL;
        int results[5] = { 0 }, i, refused = 0;
        CHECK(grants < 200);
        grant_only(grants);
        results[0] = noted("tw_mutex_create", tw_mutex_create(&mutex));
        grant_only(grants);
        results[1] = noted("tw_cond_create", tw_cond_create(&cond));
        grant_only(grants);
        results[2] = noted("tw_mailbox_create", tw_mailbox_create(&mailbox, 4));
        grant_only(grants);
        results[3] = noted("tw_key_create", tw_key_create(&key, NULL));
        grant_only(grants);
        results[4] = key == NULL ? 0 : noted("tw_key_set", tw_key_set(key, &grants));
        grant_all();
        for (i = 0; i < 5; i++) {
            CHECK(results[i] == 0 || results[i] == -ENOMEM);
            refused += results[i] != 0;
        }
        EQUAL(mutex == NULL, results[0] != 0);
        EQUAL(cond == NULL, results[1] != 0);
        EQUAL(mailbox == NULL, results[2] != 0);
        EQUAL(key == NULL, results[3] != 0);
        if (key != NULL) {
            EQUAL(tw_key_get(key, &value), 0);
            CHECK(value == (results[4] == 0 ? &grants : NULL));
        }
        EQUAL(tw_mutex_destroy(mutex), 0);
        EQUAL(tw_cond_destroy(cond), 0);
        EQUAL(tw_mailbox_destroy(mailbox), 0);
        EQUAL(tw_key_destroy(key), 0);
        refusals += refused;
        done += refused == 0;
    }
    CHECK(refusals > 4);
}

/* A mailbox that grows keeps a letter, or refuses it and is as it was. */
static void letters(const char *name, int (*send)(tw_mailbox *, void *))
{
    enum { LETTERS = 100 };
    static char sent[LETTERS];
    tw_mailbox *mailbox = NULL;
    void *letter;
    int i, result, refused = 0;
    EQUAL(tw_mailbox_create(&mailbox, LETTERS), 0);
    for (i = 0; i < LETTERS; i++) {
        grant_only(0);
        result = noted(name, send(mailbox, &sent[i]));
        grant_all();
        EQUAL(tw_mailbox_len(mailbox), result == 0 ? i + 1 : i);
        refused += result != 0;
        if (result != 0) {
            EQUAL(result, -ENOMEM);
            EQUAL(send(mailbox, &sent[i]), 0);
        }
    }
    CHECK(refused > 1 && refused < LETTERS);
    for (i = 0; i < LETTERS; i++) {
        EQUAL(tw_mailbox_tryreceive(mailbox, &letter), 0);
        CHECK(letter == &sent[i]);
    }
    EQUAL(tw_mailbox_tryreceive(mailbox, &letter), -EBUSY);
    EQUAL(tw_mailbox_destroy(mailbox), 0);
}

/* The list of a thread's values grows, until no spare block is large enough. */
static void many_keys(void)
{
    enum { KEYS = 1000 };
    static tw_key *keys[KEYS];
    int i, result, refused = 0;
    for (i = 0; i < KEYS; i++)
        EQUAL(tw_key_create(&keys[i], NULL), 0);
    for (i = 0; i < KEYS; i++) {
        grant_only(0);
        result = noted("tw_key_set", tw_key_set(keys[i], &keys[i]));
        grant_all();
        CHECK(result == 0 || result == -ENOMEM);
        refused += result != 0;
        if (result != 0)
            EQUAL(tw_key_set(keys[i], &keys[i]), 0);
    }
    CHECK(refused > 0);
    for (i = 0; i < KEYS; i++) {
        void *value = NULL;
        EQUAL(tw_key_get(keys[i], &value), 0);
        CHECK(value == &keys[i]);
        EQUAL(tw_key_destroy(keys[i]), 0);
    }
}

int main(void)
{
    runtimes();
    all_waits();
    waits_without_a_place();
    meetings();
    letters("tw_mailbox_send", tw_mailbox_send);
    letters("tw_mailbox_trysend", tw_mailbox_trysend);
    threads();
    many_keys();
    /* A kernel thread waits for a descriptor without memory. */
    each_refusal_came(stacks_may_switch() ? NULL : "tw_thread_wait_");
    return 0;
}
