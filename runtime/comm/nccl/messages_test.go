package nccl_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/comm/nccl"
	"ptc/runtime/device"
)

// TestMessages: a chain of devices that send to both neighbours before they receive, as many
// as may be under way, of several tags and sizes, again and again.
func TestMessages(t *testing.T) {
	for seed := range uint64(4) {
		const ranks, messages, most = 3, 4, 50
		axes, _ := grid(ranks)
		streams := 1 + int(seed)%2
		f := onFakes(t, ranks, seed)
		err := f.run(axes, 1<<20, nccl.Options{InFlight: messages, Streams: streams}, func(r *rank) error {
			type message struct {
				call     comm.Call
				recv     bool
				at, n    int
				from, to int
				number   int
			}
			var all []message
			at := 0
			for _, recv := range []bool{false, true} {
				for _, peer := range []int{r.Rank() - 1, r.Rank() + 1} {
					for i := range messages {
						if recv && streams > 1 { // the odd ones first: another order than they are sent in
							i = (2*i + 1) % (messages + 1)
						}
						if peer < 0 || peer >= ranks {
							continue
						}
						m := message{recv: recv, at: at, from: r.Rank(), to: peer, number: i}
						op := comm.Op{Kind: collective.Send, DType: dtype.I32, Peer: peer, Tag: i % 2}
						if recv {
							m.from, m.to, op.Kind = peer, r.Rank(), collective.Recv
						}
						// Both ends draw the same size; some have none.
						op.Inner = rand.New(rand.NewPCG(seed, uint64(100*m.from+10*m.to+i))).IntN(most)
						m.n = 4 * op.Inner
						at += 4 * most
						if buf := r.mem.rng(m.at, m.n); recv {
							op.Dst = buf
						} else {
							op.Src = buf
						}
						var err error
						if m.call, err = r.Prepare(op); err != nil {
							return err
						}
						all = append(all, m)
					}
				}
			}
			if err := r.On(r.enqueuer().Begin); err != nil {
				return err
			}
			text := func(round int, m message) []byte {
				return bytes.Repeat([]byte{byte(round), byte(m.number), byte(m.from), byte(m.to)}, m.n/4)
			}
			for round := range 5 {
				for _, m := range all {
					if !m.recv {
						if err := r.mem.put(m.at, text(round, m)); err != nil {
							return err
						}
					}
				}
				err := r.On(func() error {
					for _, m := range all {
						q := m.call.(device.Enqueued)
						if err := q.StartOn(r.stream); err != nil {
							return err
						}
						if err := q.WaitOn(r.stream); err != nil {
							return err
						}
						if m.recv {
							continue
						}
						// What was sent may be written again at once.
						if err := r.Zero(r.stream, r.mem.at+uint64(m.at), int64(m.n)); err != nil {
							return err
						}
					}
					return r.awaitStream(r.enqueuer().Watch)
				})
				if err != nil {
					return err
				}
				for i, m := range all {
					want := text(round, m)
					if got, err := r.mem.get(m.at, m.n); err != nil || m.recv && !bytes.Equal(got, want) {
						return fmt.Errorf("round %d: message %d from rank %d is %v instead of %v (%v)", round, i, m.from, got, want, err)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		f.clean(t)
	}
}
