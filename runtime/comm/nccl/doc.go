// Package nccl is the transport of devices that are GPUs of NVIDIA, one in each process, which
// exchange what is in their memory by libnccl.so.2. It is put over another transport,
// which keeps what is on the host and connects the devices:
//
//	host, err := comm.Open("mpi", mesh, options)
//	end, err := nccl.Over(host[0], nccl.Options{…})
//
// In: operations on memories that are device.Located.
//
// Out: calls that are device.Enqueued:
// the engine starts and waits for them in its own stream, and the host waits for none.
//
//	engine's stream   kernels ── ready ─────────── concurrent kernels ── waits for end ── kernels
//	a lane's stream              └ waits ── pack ── collective ── unpack ── end ┘
//
// A lane is a communicator and a stream of its own, with a party (who exchanges), a room (memory) and a queue (what
// is under way): one for each list of mesh axes, and one, or a few, for
// each pair of a sender and a receiver. So what waits for what is what the plan was proved with: operations
// of one group are in order, those of different groups wait for one another only where the program says
// so. NCCL's messages have no tags; those of which tags are in one lane says
// [ptc/runtime/program.Plan.Streams], which proves that they are in one order. A message that is sent is copied into
// one of Options.InFlight places, from which it travels while the program goes on.
//
// Operations that are captured do the same as nodes of a graph of the engine, see [device.Captured]: in their
// lane's order, packed and unpacked there. They are captured lane by lane, in the order in which lanes are connected,
// since members of a lane may wait for one another there, too; what the libraries of all devices can do is
// asked once, by Over. How far they are, the graph writes to marks.
//
//	kernels ─┬─ concurrent kernels ──────────────┬─ kernels
//	         └─ pack ── collective ── unpack ───┘
//
// Memory of the arena and of lanes is the library's own where it registers any, and is registered with each
// communicator.
//
// Collectives of NCCL have parts that follow one another. A view [outer, parts, inner] with
// outer above 1 is packed and unpacked by copies of rows, in memory of the lane.
//
// Begin compares what the members of each lane have prepared, makes an identifier, which the
// host's transport brings to the others, and connects the communicators, in an order that is the same
// on all devices. Communicators do not block: the host looks whether a call is done, and for
// how long nothing came of it. Watch ends all with an error that names the operation where a
// device has waited for longer than Options.Timeout.
//
// Left to the host's transport (device.ErrNotEnqueued): maxima of floats, as NCCL does not say what
// becomes of NaN; reductions of types that it does not have; messages of plans whose order is not one.
//
// Invariant: the elements that arrive are those that the operation says, for sums up to
// rounding. The order of a sum is NCCL's, so that it may have other bits than under other transports.
//
// Package fakenccl is a library for tests.
//
// Imports: internal/dtype, internal/foreign, runtime/comm and runtime/device.
package nccl
