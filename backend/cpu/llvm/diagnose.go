package llvm

import (
	"strings"
	"sync"
	"sync/atomic"
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
	last atomic.Uintptr
	open sync.Map // of *sink
}

func (d *sinks) add() (uintptr, *sink) {
	id, s := d.last.Add(1), &sink{}
	d.open.Store(id, s)
	return id, s
}

func (d *sinks) remove(id uintptr) { d.open.Delete(id) }

// diagnose is LLVM's diagnostic handler. Remarks and warnings are dropped: the
// text is generated, so nobody could act on them.
func (l *Library) diagnose(info, id uintptr) {
	found, ok := l.diagnostics.open.Load(id)
	if !ok || l.c.GetDiagInfoSeverity(info) != severityError {
		return
	}
	msg := l.c.takeMessage(l.c.GetDiagInfoDescription(info))
	s := found.(*sink)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors = append(s.errors, msg)
}
