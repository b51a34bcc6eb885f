/* What threads meet at, in a forked child: calls of threads that the child does not have keep
 * nothing from its end. */
#include <signal.h>
#include <sys/wait.h>

#include "models.h"

static tw_mutex *mutex;
static tw_cond *cond;
static tw_mailbox *mailbox;
static int turn;

/* Runs a function in a child. A child that is done kills itself. If it exited, valgrind would count
 * its copy of the parent's memory as lost. */
static void in_a_child(void (*act)(void))
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        act();
        raise(SIGKILL);
    }
    EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void ends_lock_and_condition(void)
{
    EQUAL(tw_cond_destroy(cond), 0);
    EQUAL(tw_mutex_destroy(mutex), 0);
}

static void ends_mailbox(void)
{
    EQUAL(tw_mailbox_destroy(mailbox), 0);
}

static void *waits(void *argument)
{
    EQUAL(tw_mutex_lock(mutex), 0);
    WRITE(turn, 1);
    while (READ(turn) != 2)
        EQUAL(tw_cond_wait(cond, mutex), 0);
    EQUAL(tw_mutex_unlock(mutex), 0);
    return argument;
}

static void begins_lock_and_condition(void)
{
    WRITE(turn, 0);
    EQUAL(tw_mutex_create(&mutex), 0);
    EQUAL(tw_cond_create(&cond), 0);
}

/* Forks while another thread runs waits(), and lets that thread return. */
static void forks_beside_a_waiter(void)
{
    int found = 0;
    /* When we have the lock after the other thread had it, the other thread waits. */
    while (found == 0) {
        tw_thread_yield();
        EQUAL(tw_mutex_lock(mutex), 0);
        found = READ(turn);
        EQUAL(tw_mutex_unlock(mutex), 0);
    }
    EQUAL(tw_cond_destroy(cond), -EBUSY);
    EQUAL(tw_mutex_destroy(mutex), -EBUSY);
    in_a_child(ends_lock_and_condition);
    EQUAL(tw_cond_destroy(cond), -EBUSY);
    EQUAL(tw_mutex_destroy(mutex), -EBUSY);
    EQUAL(tw_mutex_lock(mutex), 0);
    WRITE(turn, 2);
    EQUAL(tw_cond_signal(cond), 0);
    EQUAL(tw_mutex_unlock(mutex), 0);
}

static void in_a_model(tw_runtime *runtime, tw_model model)
{
    tw_thread waiter;
    (void)model;
    begins_lock_and_condition();
    EQUAL(tw_thread_create(runtime, &waiter, NULL, waits, NULL), 0);
    forks_beside_a_waiter();
    EQUAL(tw_thread_join(runtime, waiter, NULL), 0);
    ends_lock_and_condition();
}

static void without_a_runtime(void)
{
    pthread_t waiter;
    begins_lock_and_condition();
    EQUAL(pthread_create(&waiter, NULL, waits, NULL), 0);
    forks_beside_a_waiter();
    EQUAL(pthread_join(waiter, NULL), 0);
    ends_lock_and_condition();
}

static void *receives(void *argument)
{
    WRITE(turn, 1);
    EQUAL(tw_mailbox_receive(mailbox, NULL), 0);
    return argument;
}

/* On the only worker: the other thread goes on until it waits. */
static void *forks(void *argument)
{
    tw_runtime *runtime = (tw_runtime *)argument;
    tw_thread receiver;
    WRITE(turn, 0);
    EQUAL(tw_mailbox_create(&mailbox, 1), 0);
    EQUAL(tw_thread_create(runtime, &receiver, NULL, receives, NULL), 0);
    while (READ(turn) == 0)
        tw_thread_yield();
    EQUAL(tw_mailbox_destroy(mailbox), -EBUSY);
    in_a_child(ends_mailbox);
    EQUAL(tw_mailbox_destroy(mailbox), -EBUSY);
    EQUAL(tw_mailbox_send(mailbox, NULL), 0);
    EQUAL(tw_thread_join(runtime, receiver, NULL), 0);
    ends_mailbox();
    return NULL;
}

int main(void)
{
    without_a_runtime();
    in_each_model("thread_fork", in_a_model);
    if (stacks_may_switch()) {
        tw_runtime *runtime;
        tw_thread thread;
        EQUAL(create_runtime(&runtime, TW_MODEL_MN, 1), 0);
        EQUAL(tw_thread_create(runtime, &thread, NULL, forks, runtime), 0);
        EQUAL(tw_thread_join(runtime, thread, NULL), 0);
        EQUAL(tw_runtime_destroy(runtime), 0);
    }
    return 0;
}
