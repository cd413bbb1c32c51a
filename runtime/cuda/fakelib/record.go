package fakelib

import (
	"fmt"
	"slices"
	"sync"
)

// Record is what a library notes of its caller, and which of its calls are to fail.
type Record struct {
	mu       sync.Mutex
	calls    int
	counts   map[string]int
	failures []failure
	problems []string
}

// failure is a call that is to fail.
type failure struct {
	name   string // empty: any
	at     int    // the call's number, from 1, of those of that name
	result int
}

// Fail lets a call fail: that number at, from 1, of those of a name from now on, or of all where the
// name is empty.
func (r *Record) Fail(name string, at, result int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name == "" {
		at += r.calls
	} else {
		at += r.counts[name]
	}
	r.failures = append(r.failures, failure{name, at, result})
}

// Count counts a call, and gives its number, from 1, and the result with which it is to fail; 0: it is not.
func (r *Record) Count(name string) (number, result int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]int{}
	}
	r.calls++
	r.counts[name]++
	for _, f := range r.failures {
		if f.name == "" && f.at == r.calls || f.name == name && f.at == r.counts[name] {
			return r.calls, f.result
		}
	}
	return r.calls, 0
}

// Calls is how many calls there were.
func (r *Record) Calls() int { r.mu.Lock(); defer r.mu.Unlock(); return r.calls }

// Called is how many calls of a function there were.
func (r *Record) Called(name string) int { r.mu.Lock(); defer r.mu.Unlock(); return r.counts[name] }

// Problem notes a mistake of the caller.
func (r *Record) Problem(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// Problems are the mistakes, in order.
func (r *Record) Problems() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.problems)
}
