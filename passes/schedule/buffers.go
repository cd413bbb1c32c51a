package schedule

// Buffers are numbers of buffers. Microbatch i uses buffer i mod n of the n that
// there are, so that a program needs no table to find it.
type Buffers struct {
	// Saved holds, for each virtual stage, the buffers for the activations that
	// a forward pass saves. One is live from the forward pass to the end of the
	// backward pass or weight backward. As many do for the gradient that an input
	// backward leaves to the weight backward, which lives within that time.
	Saved []int
	// Received holds, for each payload and boundary, the buffers into which the
	// receiver takes messages. One is live from the receive to the end of the
	// slot that reads it.
	Received [payloads][]int
	// Sent holds, for each payload and boundary, the buffers from which messages
	// are sent. One is live from the slot that makes the message to the end of
	// the send. Where asynchronous sends do not copy, the channel's capacity
	// comes on top.
	Sent [payloads][]int
}

// span is the life of one buffer's content on a device, from the action that
// writes it to the action that reads it last.
type span struct {
	microbatch int
	from, to   int
}

// spans returns the lives of all buffers of a program that is complete and
// ordered: by stage, and by payload and boundary. Each list is in the order of
// from.
func spans(p *Program) (saved [][]span, received, sent [payloads][][]span) {
	saved = make([][]span, p.Shape.Stages())
	for k := range received {
		received[k] = make([][]span, p.Shape.Boundaries())
		sent[k] = make([][]span, p.Shape.Boundaries())
	}
	type key struct {
		place      *[]span
		microbatch int
	}
	for _, actions := range p.Devices {
		index := map[key]int{}
		open := func(list *[]span, i, at int) {
			index[key{list, i}] = len(*list)
			*list = append(*list, span{i, at, at})
		}
		close := func(list *[]span, i, at int) { (*list)[index[key{list, i}]].to = at }
		for at, a := range actions {
			for _, t := range a.Transfers {
				if m := t.Message; t.Send {
					close(&sent[m.Payload][m.Boundary], m.Microbatch, at)
				} else {
					open(&received[m.Payload][m.Boundary], m.Microbatch, at)
				}
			}
			if !a.IsRun() {
				continue
			}
			if m, ok := p.Shape.Input(a.Slot); ok {
				close(&received[m.Payload][m.Boundary], m.Microbatch, at)
			}
			if m, ok := p.Shape.Output(a.Slot); ok {
				open(&sent[m.Payload][m.Boundary], m.Microbatch, at)
			}
			switch list := &saved[a.Slot.Stage]; a.Slot.Kind {
			case Forward:
				open(list, a.Slot.Microbatch, at)
			case Backward, BackwardWeight:
				close(list, a.Slot.Microbatch, at)
			}
		}
	}
	return saved, received, sent
}

// clash returns two lives that share one of n buffers, the one that is
// overwritten first, or false. The list is in the order of from.
func clash(list []span, n int) (live, over span, found bool) {
	last := map[int]span{} // what was written last into each buffer
	for _, s := range list {
		if before, used := last[s.microbatch%n]; used && before.to >= s.from {
			return before, s, true
		}
		last[s.microbatch%n] = s
	}
	return span{}, span{}, false
}

// least returns the smallest number of buffers without a clash, 0 for no use.
func least(list []span) int {
	if len(list) == 0 {
		return 0
	}
	for n := 1; ; n++ { // ends: with as many buffers as microbatches none is shared
		if _, _, found := clash(list, n); !found {
			return n
		}
	}
}

// LeastBuffers returns the smallest numbers of buffers with which nothing is
// overwritten while live, or the fault of a program that is not complete and
// ordered.
func LeastBuffers(p *Program) (Buffers, error) {
	for _, check := range []func(*Program) error{checkProgram, proveWork, proveMessages, proveOrdered} {
		if err := check(p); err != nil {
			return Buffers{}, err
		}
	}
	saved, received, sent := spans(p)
	b := Buffers{Saved: leastEach(saved)}
	for k := range received {
		b.Received[k], b.Sent[k] = leastEach(received[k]), leastEach(sent[k])
	}
	return b, nil
}

func leastEach(lists [][]span) []int {
	out := make([]int, len(lists))
	for i, list := range lists {
		out[i] = least(list)
	}
	return out
}

// proveBuffers checks the numbers of buffers that are given.
func proveBuffers(p *Program, b Buffers) error {
	saved, received, sent := spans(p)
	if err := proveUse(saved, b.Saved, "saved activations of stage"); err != nil {
		return err
	}
	for k := Payload(0); k < payloads; k++ {
		if err := proveUse(received[k], b.Received[k], "received "+k.String()+"s at boundary"); err != nil {
			return err
		}
		if err := proveUse(sent[k], b.Sent[k], "sent "+k.String()+"s at boundary"); err != nil {
			return err
		}
	}
	return nil
}

func proveUse(lists [][]span, counts []int, what string) error {
	if counts == nil {
		return nil
	}
	if len(counts) != len(lists) {
		return faultf(BadShape, "%d numbers of buffers for the %s, there are %d", len(counts), what, len(lists))
	}
	for i, list := range lists {
		n := counts[i]
		if len(list) > 0 && n < 1 {
			return faultf(BadShape, "%d buffers for the %s %d; at least 1 is needed", n, what, i)
		}
		if len(list) == 0 {
			continue
		}
		if live, over, found := clash(list, n); found {
			return faultf(Overwrite, "%s %d: microbatch %d overwrites microbatch %d, which is still needed, in buffer %d of %d",
				what, i, over.microbatch, live.microbatch, live.microbatch%n, n)
		}
	}
	return nil
}
