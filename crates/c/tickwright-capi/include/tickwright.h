/* Tickwright: timers on a data structure that is chosen by measurement. This header includes all
 * others.
 *
 *   tickwright/base.h    results, versions, TW_CONTAINER
 *   tickwright/queue.h   timers inside your own structs, in a list, heap, tree or wheel
 *   tickwright/heap.h    a priority queue with your comparator
 *   tickwright/odict.h   an ordered dictionary over links inside your own structs
 *   tickwright/sched.h   callbacks after a delay, for threads and event loops
 *   tickwright/thread.h  threads: one-to-one and M:N
 *
 * All headers but tickwright/thread.h belong to libtickwright:
 * `pkg-config --cflags --libs tickwright`. tickwright/thread.h belongs to libtickwright-threads:
 * `pkg-config --cflags --libs tickwright-threads`. The headers need C11, or C++11 or later.
 */
#ifndef TICKWRIGHT_H
#define TICKWRIGHT_H

#include <tickwright/base.h>
#include <tickwright/heap.h>
#include <tickwright/odict.h>
#include <tickwright/queue.h>
#include <tickwright/sched.h>
/* Not installed by `make THREADS=no`. A compiler without __has_include expects it. */
#ifdef __has_include
#if __has_include(<tickwright/thread.h>)
#include <tickwright/thread.h>
#endif
#else
#include <tickwright/thread.h>
#endif

#endif
