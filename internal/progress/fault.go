package progress

import "fmt"

// FaultKind says why a system does not run to its end.
type FaultKind uint8

// The kinds of faults.
const (
	// Deadlock: processes wait for ever. Each of [Fault.At] waits for the next
	// one; the last for the first, or for a process that is at its end.
	Deadlock FaultKind = iota
	// Mismatch: the two of [Fault.At] send and receive, or meet in, different
	// things. The first came first.
	Mismatch
	// Lost: what [Fault.At] sends is never received.
	Lost
	// Order: the second of [Fault.At] receives a message of a channel, and the first,
	// whose message comes before, was posted and is not yet taken.
	Order
	// Crowded: where [Fault.At] posts, as many as may be are posted and not taken.
	Crowded
)

// At is a step of a process.
type At struct{ Process, Step int }

// Fault says where a system stops. Its user, who knows what the steps are, puts
// it into words.
type Fault struct {
	Kind FaultKind
	At   []At
	// Ended is the process for which the last of a deadlock waits and which is at
	// its end; -1 where they wait in a circle.
	Ended int
}

func (f *Fault) Error() string {
	return fmt.Sprintf("%s at %v", [...]string{"deadlock", "mismatch", "lost message", "order", "too many posted"}[f.Kind], f.At)
}

// end says who waits for ever, or which message nobody receives.
func (m *machine) end() *Fault {
	for _, p := range m.Processes {
		if _, more := m.Step(p, m.states[p].at); more {
			return m.circle(p)
		}
	}
	lost := &Fault{Kind: Lost}
	for _, ch := range m.channels {
		if n := len(ch.taken); n < len(ch.sent) {
			// The least of them, since the order of a map is not the same twice.
			if at := ch.sent[n].from; lost.At == nil || at.before(lost.At[0]) {
				lost.At = []At{at}
			}
		}
	}
	if lost.At == nil {
		return nil
	}
	return lost
}

func (a At) before(b At) bool {
	return a.Process < b.Process || a.Process == b.Process && a.Step < b.Step
}

// circle follows from a process that waits those that it waits for, until one
// comes again or is at its end.
func (m *machine) circle(p int) *Fault {
	f := &Fault{Kind: Deadlock, Ended: none}
	place := map[int]int{}
	for {
		x, more := m.Step(p, m.states[p].at)
		if !more {
			f.Ended = p
			return f
		}
		if i, seen := place[p]; seen {
			f.At = f.At[i:]
			return f
		}
		place[p] = len(f.At)
		f.At = append(f.At, At{p, m.states[p].at})
		p = m.awaited(p, x)
	}
}

// awaited is the process that p, which stops at x, waits for.
func (m *machine) awaited(p int, x Step) int {
	switch x.Kind {
	case Send:
		return x.Channel.To
	case Receive, Take:
		return x.Channel.From
	}
	st := &m.states[p]
	i := st.at
	if x.Kind == Wait {
		i = x.Of
	}
	t := st.open[i]
	for _, q := range m.Members(t.group) {
		if m.states[q].joined[t.group] <= t.number {
			return q
		}
	}
	return p
}
