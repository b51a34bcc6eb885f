/* Calls that `tickwright record` sees, by mode. Exits with 0 if each returned what it should. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition) do { if (!(condition)) exit(__LINE__ % 100 + 100); } while (0)

static const struct timespec MS = { 0, 1000000 };

static struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += ms * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void waits(void)
{
    int ends[2], epoll = epoll_create1(0);
    struct epoll_event event = { EPOLLIN, { 0 } };
    CHECK(pipe(ends) == 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
    for (int ready = 0; ready < 2; ready++) {
        struct pollfd file = { ends[0], POLLIN, 0 };
        struct timeval delay = { 0, 2000 };
        fd_set set;
        FD_ZERO(&set);
        FD_SET(ends[0], &set);
        CHECK(poll(&file, 1, 2) == ready);
        CHECK(poll(&file, 1, 0) == ready);
        CHECK(epoll_wait(epoll, &event, 1, 2) == ready);
        CHECK(epoll_wait(epoll, &event, 1, 0) == ready);
        CHECK(select(ends[0] + 1, &set, NULL, NULL, &delay) == ready);
        CHECK(write(ends[1], "x", 1) == 1);
    }
    struct timespec until = in_ms(CLOCK_MONOTONIC, 1);
    CHECK(nanosleep(&MS, NULL) == 0 && usleep(1000) == 0);
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
    CHECK(clock_nanosleep(CLOCK_REALTIME, 0, &MS, NULL) == 0);

    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&mutex);
    until = in_ms(CLOCK_REALTIME, 1);
    CHECK(pthread_cond_timedwait(&condition, &mutex, &until) == ETIMEDOUT);
    until = in_ms(CLOCK_MONOTONIC, 1);
    CHECK(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until) == ETIMEDOUT);

    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    until = in_ms(CLOCK_REALTIME, 1);
    CHECK(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT);
    sem_post(&semaphore);
    until = in_ms(CLOCK_REALTIME, 5000);
    CHECK(sem_timedwait(&semaphore, &until) == 0);
}

static void timers(void)
{
    struct itimerspec far = { { 5, 0 }, { 1000, 0 } }, none = { { 0, 0 }, { 0, 0 } }, later = far;
    int file = timerfd_create(CLOCK_MONOTONIC, 0);
    CHECK(timerfd_settime(file, 0, &far, NULL) == 0);
    later.it_value = in_ms(CLOCK_MONOTONIC, 100000);
    CHECK(timerfd_settime(file, TFD_TIMER_ABSTIME, &later, NULL) == 0);
    CHECK(timerfd_settime(file, 0, &none, NULL) == 0);
    CHECK(timerfd_settime(file, 0, &far, NULL) == 0);
    CHECK(close(file) == 0);
    CHECK(close(file) == -1 && errno == EBADF);
    CHECK(timerfd_settime(-1, 0, &far, NULL) == -1 && errno == EBADF);

    timer_t timer;
    struct sigevent nothing = { .sigev_notify = SIGEV_NONE };
    CHECK(timer_create(CLOCK_MONOTONIC, &nothing, &timer) == 0);
    CHECK(timer_settime(timer, 0, &far, NULL) == 0 && timer_settime(timer, 0, &none, NULL) == 0);
    CHECK(timer_settime(timer, 0, &far, NULL) == 0 && timer_delete(timer) == 0);

    /* Timers of processor time, and one of wall time that gets the id of such a one. */
    clockid_t clocks[] = { CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, 0 };
    CHECK(clock_getcpuclockid(0, &clocks[2]) == 0);
    for (int n = 0; n < 3; n++) {
        CHECK(timer_create(clocks[n], &nothing, &timer) == 0);
        CHECK(timer_settime(timer, 0, &far, NULL) == 0 && timer_settime(timer, 0, &none, NULL) == 0);
        CHECK(timer_settime(timer, 0, &far, NULL) == 0 && timer_delete(timer) == 0);
    }
    CHECK(timer_create(CLOCK_REALTIME, &nothing, &timer) == 0);
    CHECK(timer_settime(timer, 0, &far, NULL) == 0 && timer_delete(timer) == 0);

    struct itimerval minute = { { 0, 0 }, { 60, 0 } }, off = { { 0, 0 }, { 0, 0 } };
    CHECK(setitimer(ITIMER_REAL, &minute, NULL) == 0 && setitimer(ITIMER_REAL, &off, NULL) == 0);
    CHECK(alarm(100) == 0 && alarm(0) > 90);
}

static void expiry(void)
{
    struct itimerspec soon = { MS, MS };
    int file = timerfd_create(CLOCK_MONOTONIC, 0);
    CHECK(timerfd_settime(file, 0, &soon, NULL) == 0);
    unsigned long long expired = 0, count;
    while (expired < 3) {
        CHECK(read(file, &count, sizeof count) == sizeof count);
        expired += count;
    }
    close(file);
}

/* Deadlines that have passed, by one nanosecond after the boot and by a second. */
static void past(void)
{
    struct itimerspec first = { { 0, 0 }, { 0, 1 } }, often = { { 0, 1000 }, { 0, 1 } };
    int file = timerfd_create(CLOCK_MONOTONIC, 0);
    unsigned long long count;
    CHECK(timerfd_settime(file, TFD_TIMER_ABSTIME, &first, NULL) == 0);
    CHECK(read(file, &count, sizeof count) == sizeof count && count == 1);
    CHECK(timerfd_settime(file, TFD_TIMER_ABSTIME, &often, NULL) == 0);
    nanosleep(&MS, NULL);
    CHECK(close(file) == 0);
}

/* A child of a vfork closes its descriptor, and the parent goes on with its own. */
static void vforked(void)
{
    struct itimerspec far = { { 0, 0 }, { 1000, 0 } }, none = { { 0, 0 }, { 0, 0 } };
    int file = timerfd_create(CLOCK_MONOTONIC, 0), status;
    CHECK(timerfd_settime(file, 0, &far, NULL) == 0);
    if (vfork() == 0) {
        close(file);
        _exit(0);
    }
    CHECK(wait(&status) > 0 && status == 0);
    CHECK(timerfd_settime(file, 0, &far, NULL) == 0);
    CHECK(timerfd_settime(file, 0, &none, NULL) == 0);
    CHECK(timerfd_settime(file, 0, &far, NULL) == 0);
    CHECK(close(file) == 0);
}

static void *sleeper(void *nothing)
{
    nanosleep(&MS, NULL);
    return nothing;
}

static void family(const char *program)
{
    pthread_t threads[2];
    for (int n = 0; n < 2; n++)
        CHECK(pthread_create(&threads[n], NULL, sleeper, NULL) == 0);
    for (int n = 0; n < 2; n++)
        pthread_join(threads[n], NULL);
    sleeper(NULL);
    int status;
    if (fork() == 0) {
        sleeper(NULL);
        execl(program, program, "sleep", NULL);
        _exit(1);
    }
    CHECK(wait(&status) > 0 && status == 0);
}

static void *survivor(void *nothing)
{
    for (int n = 0; n < 200; n++)
        nanosleep(&MS, NULL);
    exit(0);
    return nothing;
}

/* The main thread ends, another goes on. */
static void leaderless(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, survivor, NULL) == 0);
    pthread_exit(NULL);
}

static void *waiter(void *which)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    if (which) {
        poll(NULL, 0, 1000000);
    } else {
        struct timespec until = in_ms(CLOCK_REALTIME, 1000000);
        pthread_mutex_lock(&mutex);
        pthread_cond_timedwait(&condition, &mutex, &until);
    }
    return NULL;
}

static void cancelled(void)
{
    for (long which = 0; which < 2; which++) {
        pthread_t thread;
        void *result;
        CHECK(pthread_create(&thread, NULL, waiter, (void *)which) == 0);
        usleep(20000);
        CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
        CHECK(result == PTHREAD_CANCELED);
    }
}

static void handler(int signal)
{
    (void)signal;
    int before = errno;
    nanosleep(&MS, NULL);
    errno = before;
}

static void signals(void)
{
    struct sigaction action = { .sa_handler = handler };
    struct itimerval often = { { 0, 2000 }, { 0, 2000 } };
    struct timespec long_time = { 1000, 0 };
    sigaction(SIGALRM, &action, NULL);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    /* The handler's sleep ends before the one that it interrupts. */
    for (int n = 0; n < 5; n++)
        CHECK(nanosleep(&long_time, NULL) == -1 && errno == EINTR);
    often.it_value.tv_usec = 0;
    often.it_interval.tv_usec = 0;
    setitimer(ITIMER_REAL, &often, NULL);
}

int main(int count, char **words)
{
    const char *mode = count > 1 ? words[1] : "";
    if (!strcmp(mode, "waits"))
        waits();
    else if (!strcmp(mode, "timers"))
        timers();
    else if (!strcmp(mode, "expiry"))
        expiry();
    else if (!strcmp(mode, "past"))
        past();
    else if (!strcmp(mode, "vforked"))
        vforked();
    else if (!strcmp(mode, "leaderless"))
        leaderless();
    else if (!strcmp(mode, "family"))
        family(words[0]);
    else if (!strcmp(mode, "sleep"))
        sleeper(NULL);
    else if (!strcmp(mode, "cancelled"))
        cancelled();
    else if (!strcmp(mode, "signals"))
        signals();
    else if (!strcmp(mode, "killed")) {
        struct timespec short_time = { 0, 1000 };
        for (int n = 0; n < 50; n++)
            nanosleep(&short_time, NULL);
        raise(SIGKILL);
    } else if (!strcmp(mode, "exit"))
        return 42;
    else
        return 99;
    return 0;
}
