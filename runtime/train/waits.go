package train

import (
	"encoding/binary"
	"time"

	"ptc/runtime/comm"
	"ptc/runtime/exec"
)

// waits measures how long devices are blocked in the communication of a step.
type waits struct {
	before, after []time.Duration // by device of this process, since it was opened
}

func (w *waits) begin(m *exec.Machine) { w.before = m.Blocked(w.before[:0]) }

// end gives the time of each device of this process; none where it is not measured.
func (w *waits) end(m *exec.Machine) []time.Duration {
	w.after = m.Blocked(w.after[:0])
	for i := range w.after {
		w.after[i] -= w.before[i]
	}
	return w.after
}

// stepEnd is what processes say to one another after a step, in one exchange: whether
// one of them is to stop, which they would ask before the next step, and how long each
// was blocked. So the root has the waits of all, and none waits once more for that.
//
//	byte 0       bits: the process was told to stop; it is at work for a checkpoint; it has failed in that
//	bytes 1..8   nanoseconds, -1 where they are not measured
type stepEnd struct {
	mine   [9]byte
	gather func() ([]byte, error)
	asked  bool // stop is the answer for the next step
	stop   bool
	parts  int // of a checkpoint that all are writing
}

// The bits of a process.
const (
	toStop = 1 << iota
	atParts
	partsFailed
)

// What is known of the parts of a checkpoint after a step.
const (
	partsUnknown = iota // one is at work, or it was not asked
	partsEnded          // none is at work any more, or one has failed
)

func newStepEnd(end comm.Device) (*stepEnd, error) {
	s := new(stepEnd)
	var err error
	s.gather, err = comm.Gathering(end, s.mine[:], "between two steps")
	return s, err
}

// exchange says that this process is to stop, what it does for a checkpoint, and for how long it was blocked, and
// gives the milliseconds of all in the room of out, nil where they are not measured.
func (s *stepEnd) exchange(stop bool, parts byte, blocked int64, out []float64) ([]float64, error) {
	if s.mine[0] = parts; stop {
		s.mine[0] |= toStop
	}
	binary.LittleEndian.PutUint64(s.mine[1:], uint64(blocked))
	all, err := s.gather()
	if err != nil {
		return nil, err
	}
	s.asked, s.stop = true, false
	known, bits := true, byte(0)
	for ; len(all) > 0; all = all[len(s.mine):] {
		bits |= all[0]
		ns := int64(binary.LittleEndian.Uint64(all[1:]))
		known = known && ns >= 0
		out = append(out, ms(time.Duration(ns)))
	}
	s.stop = bits&toStop != 0
	if s.parts = partsUnknown; bits&atParts == 0 || bits&partsFailed != 0 {
		s.parts = partsEnded
	}
	if !known {
		return nil, nil
	}
	return some(out), nil
}

func some(list []float64) []float64 {
	if len(list) == 0 {
		return nil
	}
	return list
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// round makes a duration short to read.
func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}
