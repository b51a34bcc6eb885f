// The work of parked.rs on goroutines: parked.go N. Prints the ns until all are parked, the ns to
// wake and join them, and the bytes of resident memory that they take.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func fail(what ...any) {
	fmt.Fprintln(os.Stderr, what...)
	os.Exit(1)
}

func resident() (bytes int) {
	text, _ := os.ReadFile("/proc/self/statm")
	if _, err := fmt.Sscan(string(text), new(int), &bytes); err != nil {
		fail("/proc/self/statm:", err)
	}
	return bytes * os.Getpagesize()
}

func main() {
	// The bench is interrupted between two samples, and a sample is short.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	var n, begun, woken int64
	if _, err := fmt.Sscan(os.Args[1], &n); err != nil {
		fail(err)
	}
	var ended sync.WaitGroup
	gate := make(chan struct{})
	resting, from := resident(), time.Now()
	for i := int64(0); i < n; i++ {
		ended.Add(1)
		go func() {
			atomic.AddInt64(&begun, 1)
			<-gate
			atomic.AddInt64(&woken, 1)
			ended.Done()
		}()
	}
	for atomic.LoadInt64(&begun) < n {
		runtime.Gosched()
	}
	created, bytes, early := time.Since(from), resident()-resting, atomic.LoadInt64(&woken)
	from = time.Now()
	close(gate) // the cheapest way to wake many goroutines
	ended.Wait()
	joined := time.Since(from)
	if early != 0 || woken != n {
		fail(early, "ended too early, and", woken, "of", n, "in all")
	}
	fmt.Println(created.Nanoseconds(), joined.Nanoseconds(), bytes)
}
