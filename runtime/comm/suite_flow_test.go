package comm_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/device"
)

// payload is what message i of a stream carries.
func payload(from, to, tag, i, n int) []byte {
	return fill(dtype.F32, n, rand.New(rand.NewPCG(uint64(from)<<32|uint64(to)<<16|uint64(tag), uint64(i))))
}

// pipeline sends around the ring of all devices in both directions at once, each
// stream with messages of two sizes, receivers behind senders or posted ahead.
func (s *suite) pipeline(messages int) error {
	n, rank := s.d.Mesh().Size(), s.d.Rank()
	if n == 1 {
		return nil
	}
	next, last := (rank+1)%n, (rank+n-1)%n
	const depth = 3 // sent ahead, within the default Options.InFlight
	for i := range messages {
		var sends, recvs []comm.Call
		var dst, want [][]byte
		size := 100
		if i%5 == 0 {
			size = 20000
		}
		for j := range depth {
			for tag, peers := range [][2]int{{next, last}, {last, next}} {
				send, err := s.d.Prepare(comm.Op{Kind: collective.Send, DType: dtype.F32, Inner: size, Label: "out",
					Src: device.Bytes(payload(rank, peers[0], tag, i*depth+j, size)), Peer: peers[0], Tag: tag})
				if err != nil {
					return err
				}
				in := make([]byte, 4*size)
				recv, err := s.d.Prepare(comm.Op{Kind: collective.Recv, DType: dtype.F32, Inner: size, Label: "in",
					Dst: device.Bytes(in), Peer: peers[1], Tag: tag})
				if err != nil {
					return err
				}
				sends, recvs, dst = append(sends, send), append(recvs, recv), append(dst, in)
				want = append(want, payload(peers[1], rank, tag, i*depth+j, size))
			}
		}
		if err := s.exchange(sends, recvs, i%2 == 0); err != nil {
			return err
		}
		for k := range dst {
			if !bytes.Equal(dst[k], want[k]) {
				return fmt.Errorf("message %d of round %d is not what was sent", k, i)
			}
			s.digest.Write(dst[k])
		}
	}
	return nil
}

// exchange sends all, then receives all; or posts the receives first.
func (s *suite) exchange(sends, recvs []comm.Call, ahead bool) error {
	if ahead {
		for _, c := range recvs {
			if err := c.Start(); err != nil {
				return err
			}
		}
	}
	for _, c := range sends {
		if err := c.Run(); err != nil {
			return err
		}
	}
	for _, c := range recvs {
		if !ahead {
			if err := c.Start(); err != nil {
				return err
			}
		}
		if err := c.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// stress replays a fixed program of small operations, as a training step does,
// many times without Prepare.
func (s *suite) stress(operations int) error {
	const program = 20
	trials := make([]*trial, program)
	srcs := make([][]byte, program)
	for i := range trials {
		var err error
		if trials[i], err = s.next(64); err != nil {
			return err
		}
		srcs[i] = bytes.Clone(trials[i].src)
	}
	count := make([]byte, 4)
	total, err := s.d.Prepare(comm.Op{Kind: collective.AllReduce, Group: s.d.Mesh().World(), DType: dtype.I32,
		Inner: 1, Src: device.Bytes(count), Dst: device.Bytes(count), Label: "count"})
	if err != nil {
		return err
	}
	for round := range operations {
		for i, t := range trials {
			copy(t.src, srcs[i])
			if err := t.call.Run(); err != nil {
				return err
			}
			if !bytes.Equal(t.dst, t.want) {
				return t.check(s)
			}
		}
		binary.LittleEndian.PutUint32(count, uint32(round))
		if err := total.Run(); err != nil {
			return err
		}
		if got := int(binary.LittleEndian.Uint32(count)); got != round*s.d.Mesh().Size() {
			return fmt.Errorf("round %d: the sum over all devices is %d", round, got)
		}
	}
	return nil
}

// late starts an operation, as a bucket of gradients is, and waits for it after more others of its group than may be
// under way at the same time.
func (s *suite) late(int) error {
	first, after := make([]byte, 4), make([]byte, 4)
	one, err := s.d.Prepare(comm.Op{Kind: collective.AllReduce, Group: s.d.Mesh().World(), DType: dtype.I32, Inner: 1, Src: device.Bytes(first), Dst: device.Bytes(first), Label: "bucket"})
	if err != nil {
		return err
	}
	other, err := s.d.Prepare(comm.Op{Kind: collective.AllReduce, Group: s.d.Mesh().World(), DType: dtype.I32, Inner: 1, Src: device.Bytes(after), Dst: device.Bytes(after), Label: "after"})
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(first, 5)
	if err := one.Start(); err != nil {
		return err
	}
	for range 100 {
		binary.LittleEndian.PutUint32(after, 2)
		if err := other.Run(); err != nil {
			return err
		}
	}
	if err := one.Wait(); err != nil {
		return err
	}
	n := s.d.Mesh().Size()
	if a, b := binary.LittleEndian.Uint32(first), binary.LittleEndian.Uint32(after); int(a) != 5*n || int(b) != 2*n {
		return fmt.Errorf("the sums of 5 and of 2 over %d devices are %d and %d", n, a, b)
	}
	return nil
}

// concurrent has two goroutines on each device, of which one runs collectives of a
// group and the other those of another group, or where there is none, messages.
func (s *suite) concurrent(operations int) error {
	axes := s.d.Mesh().Axes()
	if len(axes) == 0 {
		return nil
	}
	first, err := s.sums(axes[0].Name, "first")
	if err != nil {
		return err
	}
	second := s.ring
	if len(axes) > 1 {
		if second, err = s.sums(axes[1].Name, "second"); err != nil {
			return err
		}
	}
	result := make(chan error, 1)
	go func() { result <- second(5 * operations) }()
	return errors.Join(first(5*operations), <-result)
}

// sums gives a function that adds up a count over the axis so many times.
func (s *suite) sums(axis, label string) (func(int) error, error) {
	g, err := s.d.Mesh().Group(axis)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, 4)
	call, err := s.d.Prepare(comm.Op{Kind: collective.AllReduce, Group: g, DType: dtype.I32, Inner: 1, Src: device.Bytes(buf), Dst: device.Bytes(buf), Label: label})
	return func(times int) error {
		for i := range times {
			binary.LittleEndian.PutUint32(buf, uint32(i))
			if err := call.Run(); err != nil {
				return err
			}
			if got := int(binary.LittleEndian.Uint32(buf)); got != i*g.Size() {
				return fmt.Errorf("%s: the sum over %s is %d instead of %d", label, axis, got, i*g.Size())
			}
		}
		return nil
	}, err
}

// ring passes numbers on to the next device so many times.
func (s *suite) ring(times int) error {
	n, rank := s.d.Mesh().Size(), s.d.Rank()
	out, in := make([]byte, 4), make([]byte, 4)
	send, err := s.d.Prepare(comm.Op{Kind: collective.Send, DType: dtype.I32, Inner: 1, Src: device.Bytes(out), Peer: (rank + 1) % n, Tag: 9})
	if err != nil {
		return err
	}
	recv, err := s.d.Prepare(comm.Op{Kind: collective.Recv, DType: dtype.I32, Inner: 1, Dst: device.Bytes(in), Peer: (rank + n - 1) % n, Tag: 9})
	if err != nil {
		return err
	}
	for i := range times {
		binary.LittleEndian.PutUint32(out, uint32(i*n+rank))
		if err := send.Run(); err != nil {
			return err
		}
		if err := recv.Run(); err != nil {
			return err
		}
		if got := int(binary.LittleEndian.Uint32(in)); got != i*n+(rank+n-1)%n {
			return fmt.Errorf("message %d carries %d", i, got)
		}
	}
	return nil
}
