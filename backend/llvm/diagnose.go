package llvm

import (
	"strings"
	"sync"
)

// sink collects what LLVM reports about one compilation. Without a handler
// LLVM would print an error (of inline assembly, for example) and end the
// process.
type sink struct {
	mu     sync.Mutex
	errors []string
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.errors, "; ")
}

// sinks finds the sink of a compilation by the number that LLVM passes back: a
// Go pointer must not be kept by C.
type sinks struct {
	mu   sync.Mutex
	last uintptr
	open map[uintptr]*sink
}

func (d *sinks) add() (uintptr, *sink) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	s := &sink{}
	d.open[d.last] = s
	return d.last, s
}

func (d *sinks) remove(id uintptr) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, id)
}

func (d *sinks) get(id uintptr) *sink {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[id]
}

// diagnose is LLVM's diagnostic handler. Remarks and warnings are dropped: the
// text is generated, so nobody could act on them.
func (l *Library) diagnose(info, id uintptr) {
	s := l.diagnostics.get(id)
	if s == nil || l.c.GetDiagInfoSeverity(info) != severityError {
		return
	}
	msg := l.c.takeMessage(l.c.GetDiagInfoDescription(info))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors = append(s.errors, msg)
}
