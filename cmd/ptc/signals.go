package main

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"ptc/cmd/ptc/early"
	"ptc/runtime/data/generator"
)

// signals decides what a signal does. From the first instruction on, one ends the
// process with exitInterrupt as soon as no file is being written; a run that has
// begun asks for the first one, and then the second ends the process. Schedulers
// signal more than once before they end a process by force: theirs count as one
// within the time that a run was given to end.
type signals struct {
	files sync.RWMutex // held for reading while a file is written

	mu    sync.Mutex
	first func(os.Signal) // of a run that has begun; nil: there is none, or it was called

	requeue int           // exit code of a process that a scheduler ends before it has done anything; 0: exitInterrupt
	grace   time.Duration // during which further signals of a scheduler are not heeded
	until   time.Time     // end of that time; zero: none came yet
}

// listen begins to take signals.
func (s *signals) listen() {
	go func() {
		ending := false
		for sig := range early.Heard {
			if f := s.take(sig); f != nil {
				f(sig)
				continue
			}
			if s.known(sig) {
				continue
			}
			if ending {
				generator.EndAll()
				os.Exit(s.code(sig)) // whatever is being written cannot be waited for
			}
			ending = true
			s.begin(sig)
			go func() {
				s.files.Lock()
				generator.EndAll()
				os.Exit(s.code(sig))
			}()
		}
	}()
}

func (s *signals) take(sig os.Signal) func(os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.first
	s.first = nil
	if f != nil {
		s.heard(sig)
	}
	return f
}

// begin notes the first signal of a process that has begun nothing.
func (s *signals) begin(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard(sig)
}

// heard begins the time in which a scheduler's signals count as one.
func (s *signals) heard(sig os.Signal) {
	if bySchedulers(sig) && s.grace > 0 {
		s.until = time.Now().Add(s.grace)
	}
}

// foresee takes what the command line says to a scheduler's signals before the flags are read: what is wrong
// with it is told when they are.
func (s *signals) foresee(args []string) {
	value := func(name string) string {
		for i, a := range args {
			switch v, ok := strings.CutPrefix(a, "--"+name+"="); {
			case a == "--":
				return ""
			case ok:
				return v
			case a == "--"+name && i+1 < len(args):
				return args[i+1]
			}
		}
		return ""
	}
	requeue, err := strconv.Atoi(value("requeue-exit-code"))
	if err != nil || checkRequeue(requeue) != nil {
		return
	}
	grace, err := time.ParseDuration(value("grace"))
	if err != nil || grace < 0 {
		grace = 0
	}
	s.preemptible(requeue, grace)
}

// bySchedulers says whether a signal is one that schedulers send; a person at a
// keyboard sends os.Interrupt.
func bySchedulers(sig os.Signal) bool { return sig != os.Interrupt }

// known says whether a signal repeats what the run was told.
func (s *signals) known(sig os.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bySchedulers(sig) && time.Now().Before(s.until)
}

// again says what a second signal would do.
func (s *signals) again(sig os.Signal) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bySchedulers(sig) && s.grace > 0 {
		return "SIGINT ends at once, and others in " + s.grace.String()
	}
	return "once more ends at once"
}

// preemptible says what a run makes of the signals of a scheduler.
func (s *signals) preemptible(requeue int, grace time.Duration) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requeue, s.grace = requeue, grace
}

// code is what the process exits with that has not begun.
func (s *signals) code(sig os.Signal) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requeue > 0 && bySchedulers(sig) {
		return s.requeue
	}
	return exitInterrupt
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
// file appears complete or not at all, and nothing else is left.
func (s *signals) hold() (release func()) {
	if s == nil {
		return func() {}
	}
	s.files.RLock()
	return s.files.RUnlock
}
