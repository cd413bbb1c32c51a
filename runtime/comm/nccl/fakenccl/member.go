package fakenccl

import (
	"slices"

	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/cuda/fakelib"
)

// clique is the members of a communicator.
type clique struct {
	n       int
	members []*member // by rank; nil: not there yet
	joined  int
	links   map[[2]int]*series // from a member to another

	collectives series
}

// member is one of them, as its caller has it.
type member struct {
	of        *clique
	handle    uintptr
	rank, gpu int
	stream    uintptr // that it uses; 0: none yet
	issued    map[*series]int
	captured  map[*series]int
	replayed  map[*meeting]int
	came      map[*series]int
	busy      int        // so many times more its calls are in progress
	pending   int        // groups on its stream
	running   int        // those that it has come to
	graphs    int        // that have a group of it
	first     []*meeting // of a link, which connect it, and what it captures
	buffers   map[uintptr]block
	finalized bool
	aborted   bool
}

// initRank is ncclCommInitRankConfig. The configuration is the head of ncclConfig_t: size, magic,
// version and blocking.
func initRank(l *Library, a []uintptr) int {
	n, rank, id := int(int32(a[1])), int(int32(a[2])), *fakelib.Pointer[[16]uint64](a[4])
	c := a[3]
	if c == 0 || *fakelib.Pointer[uintptr](c) < 20 || *fakelib.Pointer[uint32](c + 8) != 0xcafebeef || *fakelib.Pointer[uint32](c + 12) < 21400 || *fakelib.Pointer[int32](c + 16) != 0 {
		l.Problem("a configuration that is none, or blocks")
		return InvalidArgument
	}
	gpu := l.drv.Current()
	q := l.cliques[id]
	if q == nil {
		q = &clique{n: n, members: make([]*member, max(0, n)), links: map[[2]int]*series{}, collectives: *newSeries(false, n)}
		l.cliques[id] = q
	}
	switch {
	case gpu < 0:
		l.Problem("a communicator on a thread without a context")
		return InvalidUsage
	case id == [16]uint64{} || n < 1 || rank < 0 || rank >= n || q.n != n || q.members[rank] != nil:
		l.Problem("member %d of %d", rank, n)
		return InvalidArgument
	case slices.ContainsFunc(q.members, func(m *member) bool { return m != nil && m.gpu == gpu }):
		l.Problem("two members on GPU %d", gpu)
		return InvalidUsage
	}
	l.next += 16
	m := &member{of: q, handle: l.next, rank: rank, gpu: gpu, issued: map[*series]int{}, captured: map[*series]int{}, replayed: map[*meeting]int{}, came: map[*series]int{}, buffers: map[uintptr]block{}}
	q.members[rank], l.members[l.next] = m, m
	q.joined++
	*fakelib.Pointer[uintptr](a[0]) = m.handle
	return l.busy(m, true)
}

// connecting says whether a call has to wait for another member: all of them for the first one, both
// ends for the first message from one to another, all that take part where it is captured.
func (m *member) connecting() bool {
	m.first = slices.DeleteFunc(m.first, (*meeting).whole)
	return m.of.joined < m.of.n || len(m.first) > 0
}

// busy is the result of a call that may be in progress for some time.
func (l *Library) busy(m *member, always bool) int {
	if l.rng != nil {
		m.busy = l.rng.IntN(4)
	}
	if m.busy > 0 || always || m.connecting() {
		return InProgress
	}
	return Success
}

// member is the one with a handle, whose calls are not in progress.
func (l *Library) member(handle uintptr, what string) *member {
	m := l.members[handle]
	switch {
	case m == nil:
		l.Problem("%s: there is no communicator %#x", what, handle)
	case m.connecting() || m.busy > 0:
		l.Problem("%s while a call is in progress", what)
	case l.drv.Current() != m.gpu:
		l.Problem("%s on a thread with another GPU than %d", what, m.gpu)
	default:
		return m
	}
	return nil
}

func asyncError(l *Library, a []uintptr) int {
	m, state := l.members[a[0]], fakelib.Pointer[int32](a[1])
	if m == nil {
		l.Problem("the state of no communicator")
		return InvalidArgument
	}
	*state = Success
	switch {
	case l.broken != 0:
		*state = l.broken
	case m.connecting():
		*state = InProgress
	case m.busy > 0:
		m.busy--
		*state = InProgress
	}
	return Success
}

func finalize(l *Library, a []uintptr) int {
	m := l.member(a[0], "ncclCommFinalize")
	if m == nil {
		return InvalidArgument
	}
	switch {
	case m.pending > 0:
		l.Problem("a communicator is ended while its stream has %d groups", m.pending)
	case m.graphs > 0:
		l.Problem("a communicator is ended while %d graphs have what was captured of it", m.graphs)
	case len(m.buffers) > 0:
		l.Problem("a communicator is ended with %d registered buffers", len(m.buffers))
	}
	m.finalized = true
	return l.busy(m, false)
}

func destroy(l *Library, a []uintptr) int {
	m := l.member(a[0], "ncclCommDestroy")
	if m == nil {
		return InvalidArgument
	}
	if !m.finalized {
		l.Problem("a communicator is destroyed that was not finalized")
	}
	delete(l.members, a[0])
	return Success
}

// abort lets go of the member's stream; those of the others stay stuck. It comes back when no graph has
// what was captured of the communicator.
func abort(l *Library, a []uintptr) int {
	m := l.members[a[0]]
	if m == nil {
		l.Problem("ncclCommAbort: there is no communicator %#x", a[0])
		return InvalidArgument
	}
	m.aborted = true
	delete(l.members, a[0])
	l.drv.Until(func() bool { return m.graphs == 0 })
	return Success
}

func groupStart(l *Library, _ []uintptr) int {
	t := fakelib.Thread()
	if l.groups[t] == nil {
		l.groups[t] = &group{}
	}
	l.groups[t].depth++
	return Success
}

func groupEnd(l *Library, _ []uintptr) int {
	g := l.groups[fakelib.Thread()]
	if g == nil || g.depth == 0 {
		l.Problem("the end of no group")
		return InvalidUsage
	}
	if g.depth--; g.depth > 0 {
		return Success
	}
	calls := g.calls
	g.calls = nil
	r := Success
	for len(calls) > 0 { // of one communicator after the other
		m := calls[0].m
		var own, rest []*issued
		for _, c := range calls {
			if c.m == m {
				own = append(own, c)
			} else {
				rest = append(rest, c)
			}
		}
		if x := l.launch(m, own); x != Success {
			r = x
		}
		calls = rest
	}
	return r
}

// launch gives a stream the calls of a group: they arrive, and end once all others have. Where the stream is
// captured, each launch of a graph does that.
func (l *Library) launch(m *member, calls []*issued) int {
	s, ok := l.drv.Stream(m.stream)
	if !ok || s.GPU() != m.gpu {
		l.Problem("a stream that is none of GPU %d", m.gpu)
		return InvalidArgument
	}
	for _, c := range calls {
		c.on = s
		l.find(c)
	}
	if s.Capturing() {
		l.capture(s, m, calls)
		return l.busy(m, false)
	}
	for _, c := range calls {
		c.turn.n = m.issued[c.series]
		m.issued[c.series]++
		l.join(c)
		if c.turn.n == 0 && c.series.link {
			m.first = append(m.first, c.at)
		}
	}
	m.pending++
	err := s.Enqueue(nil, func() { l.begin(m, calls) })
	if err == nil {
		err = s.Enqueue(m.ready(calls), func() { l.end(m, calls) })
	}
	if err != nil {
		l.Problem("%v", err)
		return SystemError
	}
	return l.busy(m, false)
}

// capture puts a group into a graph.
func (l *Library) capture(s fakecuda.Stream, m *member, calls []*issued) {
	for _, c := range calls {
		if c.series.link && m.issued[c.series] == 0 {
			l.Problem("the first message between members %d and %d is captured", m.rank, c.peer)
		}
		c.turn = turn{captured: true, n: m.captured[c.series]}
		m.captured[c.series]++
		l.join(c)
		m.first = append(m.first, c.at)
	}
	s.Capture(&m.graphs, func() (func() bool, func()) {
		again := make([]*issued, len(calls))
		for i, c := range calls {
			m.replayed[c.at]++
			x := *c
			x.turn.replay = m.replayed[c.at]
			again[i] = &x
			l.join(&x)
			x.at.stuck = x.at.stuck || c.at.stuck
		}
		m.pending++
		l.begin(m, again)
		return m.ready(again), func() { l.end(m, again) }
	})
}

// begin is when a member's GPU comes to a group.
func (l *Library) begin(m *member, calls []*issued) {
	if m.running++; m.running > 1 {
		l.Problem("member %d does %d groups of a communicator at once", m.rank, m.running)
	}
	for _, c := range calls {
		l.come(c)
	}
}

func (m *member) ready(calls []*issued) func() bool {
	return func() bool { return m.aborted || !slices.ContainsFunc(calls, (*issued).waits) }
}

func (l *Library) end(m *member, calls []*issued) {
	m.pending--
	m.running--
	for _, c := range calls {
		if !m.aborted {
			l.do(c)
		}
	}
}
