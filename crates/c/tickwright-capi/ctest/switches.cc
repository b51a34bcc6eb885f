// C++ exceptions of threads that wait while they handle them. Each thread has its own exceptions,
// whichever thread runs on its worker meanwhile.
#include <exception>
#include <stdexcept>
#include <string>

#include "models.h"

static tw_runtime *threads;

struct number : std::exception {
    std::string text;
    explicit number(int value) : text("the exception number " + std::to_string(value)) {}
    const char *what() const noexcept override { return text.c_str(); }
};

static void *nothing(void *)
{
    return nullptr;
}

// Waits in each way that leaves the stack.
static void wait(int way)
{
    switch (way % 4) {
    case 0: tw_thread_yield(); break;
    case 1: tw_thread_sleep(20000); break;
    case 2:
        EQUAL(tw_thread_unpark(threads, tw_thread_self()), 0);
        tw_thread_park();
        tw_thread_yield();
        break;
    case 3: {
        tw_thread other;
        EQUAL(tw_thread_create(threads, &other, nullptr, nothing, nullptr), 0);
        EQUAL(tw_thread_join(threads, other, nullptr), 0);
        break;
    }
    }
}

// An object whose destructor waits while an exception is under way.
struct waits {
    int way;
    ~waits()
    {
        CHECK(std::uncaught_exception());
        wait(way);
        CHECK(std::uncaught_exception());
    }
};

static std::string rethrown(int me, int depth)
{
    try {
        try {
            waits here = { me + depth };
            throw number(me * 100 + depth);
        } catch (std::exception &caught) {
            CHECK(!std::uncaught_exception());
            wait(me + depth + 1);
            if (depth > 0)
                EQUAL(rethrown(me, depth - 1).size() > 0, 1);
            wait(me + depth + 2);
            std::exception_ptr current = std::current_exception();
            CHECK(current != nullptr);
            CHECK(number(me * 100 + depth).text == caught.what());
            throw;
        }
    } catch (std::exception &caught) {
        return caught.what();
    }
}

static void *body(void *argument)
{
    int me = (int)(intptr_t)argument;
    for (int round = 0; round < 20; round++) {
        CHECK(!std::uncaught_exception());
        CHECK(std::current_exception() == nullptr);
        CHECK(rethrown(me, 3) == number(me * 100 + 3).text);
    }
    return argument;
}

// A thread that ends while others are inside their catch blocks leaves nothing to the next one on
// its stack.
static void *brief(void *)
{
    CHECK(std::current_exception() == nullptr);
    try {
        throw 7;
    } catch (int seven) {
        tw_thread_yield();
        EQUAL(seven, 7);
    }
    return nullptr;
}

static void in_model(tw_model model)
{
    enum { COUNT = 6 };
    tw_thread all[COUNT], one;
    EQUAL(create_runtime(&threads, model, 1), 0);
    for (int i = 0; i < COUNT; i++)
        EQUAL(tw_thread_create(threads, &all[i], nullptr, body, (void *)(intptr_t)(i + 1)), 0);
    for (int i = 0; i < 50; i++) {
        EQUAL(tw_thread_create(threads, &one, nullptr, brief, nullptr), 0);
        EQUAL(tw_thread_join(threads, one, nullptr), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        void *value = nullptr;
        EQUAL(tw_thread_join(threads, all[i], &value), 0);
        EQUAL((intptr_t)value, i + 1);
    }
    EQUAL(tw_runtime_destroy(threads), 0);
}

int main()
{
    // This test also runs under valgrind, which knows of these stacks, and detects exceptions that
    // are used after they were freed.
    in_model(TW_MODEL_MN);
    in_model(TW_MODEL_ONE_TO_ONE);
    return 0;
}
