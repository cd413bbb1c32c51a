package local

import (
	"slices"
	"sync"
	"sync/atomic"

	"ptc/internal/collective"
	"ptc/internal/processors"
	"ptc/runtime/comm"
	"ptc/runtime/device"
)

func init() {
	comm.Register(comm.Transport{Name: "local", Open: Open})
}

// world is all devices of a mesh.
type world struct {
	mesh *comm.Mesh
	opts comm.Options
	// patient: there is a processor for every device.
	patient bool
	failed  atomic.Pointer[cause]

	mu      sync.Mutex // guards what follows
	rooms   map[meeting]*room
	streams map[link]*stream
	waiters []*waiter // of all prepared calls, to be woken by a failure

	devices []*end
}

// cause is the failure that ended the world.
type cause struct{ err error }

// meeting identifies a room: a set of axes and which of its groups.
type meeting struct{ set, index, size int }

// link identifies a stream of messages.
type link struct{ from, to, tag int }

// Open makes all devices of a mesh.
func Open(m *comm.Mesh, o comm.Options) ([]comm.Device, error) {
	w := &world{mesh: m, opts: o.WithDefaults(), patient: m.Size() <= processors.Count(), rooms: map[meeting]*room{}, streams: map[link]*stream{}}
	devs := make([]comm.Device, m.Size())
	for r := range devs {
		d := &end{w: w, rank: r}
		w.devices = append(w.devices, d)
		devs[r] = d
	}
	return devs, nil
}

// fail records the first failure, wakes everyone, and gives that failure.
func (w *world) fail(err error) error {
	w.failed.CompareAndSwap(nil, &cause{err})
	w.wakeAll()
	return w.failed.Load().err
}

func (w *world) wakeAll() {
	w.mu.Lock()
	all := slices.Clone(w.waiters)
	w.mu.Unlock()
	for _, x := range all {
		x.notify()
	}
}

// end is one device's end of a world.
type end struct {
	w      *world
	rank   int
	closed atomic.Bool
	at     atomic.Pointer[waiter] // where it waits, for the errors of others
}

func (d *end) Rank() int        { return d.rank }
func (d *end) Mesh() *comm.Mesh { return d.w.mesh }

// Serves bytes of this process.
func (d *end) Serves(m device.Memory) bool {
	_, ok := m.HostBytes()
	return ok
}

func (d *end) Failed() error {
	if f := d.w.failed.Load(); f != nil {
		return comm.Aborted(d.rank, f.err)
	}
	return nil
}

func (d *end) Abort(err error) { _ = d.w.fail(err) }

// Close fails the waits of others for this device.
func (d *end) Close() error {
	if !d.closed.Swap(true) {
		d.w.wakeAll()
	}
	return nil
}

// usable is why the device can start nothing any more, or nil.
func (d *end) usable() error {
	if err := d.Failed(); err != nil {
		return err
	}
	if d.closed.Load() {
		return &comm.Error{Reason: comm.ReasonInvalid, Rank: d.rank, Msg: "a closed device cannot communicate"}
	}
	return nil
}

func (d *end) Prepare(op comm.Op) (comm.Call, error) {
	if err := op.Check(d.rank, d.w.mesh.Size()); err != nil {
		return nil, err
	}
	tensors, err := op.OnHost(d.rank)
	if err != nil {
		return nil, err
	}
	w := d.w
	w.mu.Lock()
	defer w.mu.Unlock()
	switch op.Kind {
	case collective.Send:
		c := &message{s: w.stream(link{d.rank, op.Peer, op.Tag}, &op), buf: tensors[0].Src}
		c.init(d, op)
		return c, nil
	case collective.Recv:
		c := &message{s: w.stream(link{op.Peer, d.rank, op.Tag}, &op), recv: true, buf: tensors[0].Dst}
		c.init(d, op)
		return c, nil
	}
	c := &exchange{room: w.room(op.Group, d.rank)}
	c.init(d, op)
	c.coord = op.Group.Coord(d.rank)
	c.member = slices.Index(c.room.members, d.rank)
	c.tensors, c.work = tensors, newWorks(tensors)
	return c, nil
}

// room finds or makes the room of a device's group.
func (w *world) room(g *comm.Group, rank int) *room {
	members := slices.Sorted(slices.Values(g.Members(rank)))
	// A device alone has the set 0 of all devices, but its own first member.
	key := meeting{g.Set(), members[0], len(members)}
	r := w.rooms[key]
	if r == nil {
		r = newRoom(members, w.opts.Outstanding)
		w.rooms[key] = r
	}
	return r
}
