// The work of peers.c on the timers of Go's runtime: time.AfterFunc, Reset, Stop. One sample a line.
//
//	go run timers.go N,N,... ROUNDS SEED
package main

import (
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const peer = "go/AfterFunc"

func fail(what string) {
	fmt.Fprintf(os.Stderr, "timers.go: %s\n", what)
	os.Exit(1)
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil || value < 0 {
		fail("no number: " + text)
	}
	return value
}

// Each timer of a sample fires once, and not early.
func verify(random *rand.Rand) {
	var fired sync.WaitGroup
	for i := 0; i < 200; i++ {
		fired.Add(1)
		delay, begun := time.Duration(1+random.Intn(20))*time.Millisecond, time.Now()
		time.AfterFunc(delay, func() {
			if time.Since(begun) < delay {
				fail("a timer was early")
			}
			fired.Done() // A second run of one timer makes the count negative, which panics.
		})
	}
	fired.Wait()
}

func say(n, round int, operation string, took time.Duration) {
	fmt.Printf("{ \"peer\": %q, \"n\": %d, \"round\": %d, \"clock\": \"each call\", \"lock\": true, \"operation\": %q, \"ns_per_operation\": %.2f }\n",
		peer, n, round, operation, float64(took.Nanoseconds())/float64(n))
}

func measure(n, round int, delays, later []time.Duration, order []int) {
	timers := make([]*time.Timer, n)
	nothing := func() {}
	begun := time.Now()
	for i := range timers {
		timers[i] = time.AfterFunc(delays[i], nothing)
	}
	added := time.Now()
	armed := 0
	for i, at := range order {
		if timers[at].Reset(later[i]) {
			armed++
		}
	}
	rearmed := time.Now()
	stopped := 0
	for _, timer := range timers {
		if timer.Stop() {
			stopped++
		}
	}
	ended := time.Now()
	if armed != n || stopped != n {
		fail("not all timers were armed")
	}
	say(n, round, "add", added.Sub(begun))
	say(n, round, "rearm", rearmed.Sub(added))
	say(n, round, "del", ended.Sub(rearmed))
}

func main() {
	if len(os.Args) != 4 {
		fail("usage: timers.go N,N,... ROUNDS SEED")
	}
	rounds, random := number(os.Args[2]), rand.New(rand.NewSource(int64(number(os.Args[3]))))
	verify(random)
	for _, text := range strings.Split(os.Args[1], ",") {
		n := number(text)
		delays, later := make([]time.Duration, n), make([]time.Duration, n)
		for i := range delays {
			// Longer than a round, so that no timer fires while it is measured.
			delays[i] = time.Duration(60_000+random.Intn(60_000)) * time.Millisecond
			later[i] = time.Duration(60_000+random.Intn(60_000)) * time.Millisecond
		}
		order := random.Perm(n)
		for round := 0; round < rounds; round++ {
			measure(n, round, delays, later, order)
		}
	}
}
