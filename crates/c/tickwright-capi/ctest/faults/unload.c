/* A program that repairs its own faults loads the library by a plug-in, runs threads, and closes
 * the library. Then the program repairs its faults as before. On threads that never called the
 * library, a fault reaches the program's handler without an allocation. Argument: the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check.h"

static void *library;
static char *page;
static volatile int repaired, inside, allocations;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size)
{
    allocations += inside;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations += inside;
    return __libc_calloc(count, size);
}

void *memalign(size_t alignment, size_t size)
{
    allocations += inside;
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

static void repair(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    if ((char *)info->si_addr != page)
        _exit(99);
    inside = 0;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    repaired++;
}

static void fault(void)
{
    mprotect(page, 4096, PROT_NONE);
    inside = 1;
    *(volatile char *)page = 1;
    inside = 0;
}

static void *foreign(void *argument)
{
    fault();
    return argument;
}

static void *nothing(void *argument)
{
    return argument;
}

static void *find(const char *name)
{
    void *found = dlsym(library, name);
    CHECK(found != NULL);
    return found;
}

/* On a thread that ends before the library is closed: otherwise its variables would keep the
 * library. */
static void *use(void *argument)
{
    int (*create)(tw_runtime **, tw_model, const tw_runtime_options *) =
        (int (*)(tw_runtime **, tw_model, const tw_runtime_options *))find("tw_runtime_create");
    int (*destroy)(tw_runtime *) = (int (*)(tw_runtime *))find("tw_runtime_destroy");
    int (*start)(tw_runtime *, tw_thread *, const tw_thread_options *, tw_thread_fn, void *) =
        (int (*)(tw_runtime *, tw_thread *, const tw_thread_options *, tw_thread_fn, void *))find("tw_thread_create");
    int (*join)(tw_runtime *, tw_thread, void **) = (int (*)(tw_runtime *, tw_thread, void **))find("tw_thread_join");
    tw_runtime *threads;
    tw_runtime_options options = TW_RUNTIME_OPTIONS_INIT;
    tw_thread id;
    pthread_t other;
    options.workers = 1;
    EQUAL(create(&threads, TW_MODEL_MN, &options), 0);
    EQUAL(start(threads, &id, NULL, nothing, NULL), 0);
    EQUAL(join(threads, id, NULL), 0);
    EQUAL(pthread_create(&other, NULL, foreign, NULL), 0);
    pthread_join(other, NULL);
    EQUAL(repaired, 1);
    EQUAL(allocations, 0);
    EQUAL(destroy(threads), 0);
    return argument;
}

int main(int argc, char **argv)
{
    struct sigaction own;
    pthread_t user;
    EQUAL(argc, 2);
    page = (char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(&own, 0, sizeof own);
    own.sa_sigaction = repair;
    own.sa_flags = SA_SIGINFO;
    EQUAL(sigaction(SIGSEGV, &own, NULL), 0);
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    EQUAL(pthread_create(&user, NULL, use, NULL), 0);
    pthread_join(user, NULL);
    EQUAL(dlclose(library), 0);
    fault();
    EQUAL(repaired, 2);
    return 0;
}
