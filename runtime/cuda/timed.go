package cuda

import (
	"fmt"
	"time"

	"ptc/runtime/device"
)

// maxEvents bounds the events of a stretch that is timed at once.
const maxEvents = 4096

// StepTimed launches kernels one by one, with an event between any two launches, and waits at the end alone: so
// what is told of one is what it took, as long as the host is ahead of the GPU. Around what the
// host does, it is the host's clock that tells.
func (p *captured) StepTimed(cuts []int, spans []device.Interval) error {
	if len(spans) == 0 || len(cuts) != len(spans)+1 {
		return fmt.Errorf("%d intervals between %d cuts", len(spans), len(cuts))
	}
	return p.stepBy(func() error { return p.timed(cuts, spans) })
}

func (p *captured) timed(cuts []int, spans []device.Interval) error {
	if cuts[0] == 0 {
		if err := p.begin(p.ports.ins); err != nil {
			return p.failed(err)
		}
	}
	for k := 0; k < len(spans); {
		to := k
		for to < len(spans) && to-k < maxEvents-1 && !p.hosts(cuts[to], cuts[to+1]) {
			to++
		}
		var err error
		if to == k {
			to++
			err = p.byHost(cuts[k], cuts[to], &spans[k])
		} else {
			err = p.byEvents(cuts[k:to+1], spans[k:to])
		}
		if err != nil {
			return err
		}
		k = to
	}
	return p.failed(p.begin(p.ports.outs))
}

// byHost runs instructions of which the host does some.
func (p *captured) byHost(from, to int, span *device.Interval) error {
	if err := p.streams.awaitStream(); err != nil {
		return p.failed(err)
	}
	span.Start = time.Now()
	for i := from; i < to; i++ {
		if err := p.enact(i); err != nil {
			return err
		}
	}
	err := p.failed(p.streams.awaitStream())
	span.End = time.Now()
	return err
}

// byEvents runs instructions of which the host does none. The stream is idle when the first event is recorded,
// so that it is now.
func (p *captured) byEvents(cuts []int, spans []device.Interval) error {
	if err := p.needEvents(len(cuts)); err != nil {
		return p.failed(err)
	}
	if err := p.streams.awaitStream(); err != nil {
		return p.failed(err)
	}
	start := time.Now()
	for k := range cuts {
		if k > 0 {
			for i := cuts[k-1]; i < cuts[k]; i++ {
				if err := p.enact(i); err != nil {
					return err
				}
			}
		}
		if err := p.drv.record(p.events[k], p.stream); err != nil {
			return p.failed(err)
		}
	}
	if err := p.streams.awaitStream(); err != nil {
		return p.failed(err)
	}
	at := start
	for k := range spans {
		took, err := p.drv.elapsed(p.events[k], p.events[k+1])
		if err != nil {
			return p.failed(err)
		}
		spans[k].Start, at = at, at.Add(took)
		spans[k].End = at
	}
	return nil
}
