package main

import (
	"os"
	"os/signal"
	"sync"
)

// signals decides what a signal does. From the first instruction on, one ends the
// process with exitInterrupt as soon as no file is being written; a run that has
// begun asks for the first one, and then the second ends the process.
type signals struct {
	files sync.RWMutex // held for reading while a file is written

	mu    sync.Mutex
	first func(os.Signal) // of a run that has begun; nil: there is none, or it was called
}

// listen begins to take signals.
func (s *signals) listen() {
	heard := make(chan os.Signal, 4)
	signal.Notify(heard, endSignals()...)
	go func() {
		ending := false
		for sig := range heard {
			if f := s.take(); f != nil {
				f(sig)
				continue
			}
			if ending {
				os.Exit(exitInterrupt) // whatever is being written cannot be waited for
			}
			ending = true
			go func() {
				s.files.Lock()
				os.Exit(exitInterrupt)
			}()
		}
	}()
}

func (s *signals) take() func(os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.first
	s.first = nil
	return f
}

// finish lets the first signal call f instead of ending the process.
func (s *signals) finish(f func(os.Signal)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = f
}

// hold lets no signal but a second one end the process until it is released: a
// file appears whole or not at all, and nothing is left beside it.
func (s *signals) hold() (release func()) {
	if s == nil {
		return func() {}
	}
	s.files.RLock()
	return s.files.RUnlock
}
