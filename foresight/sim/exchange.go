package sim

import "slices"

// issue is an exchange that a class has come to: a new flow, or one that another class has come to before.
func (e *engine) issue(c *runner, x *exchange, micro int) *flow {
	switch {
	case x.stream == messages:
		return e.message(x, micro)
	case len(x.classes) > 1:
		return e.meet(c, x)
	}
	f := &flow{exchange: x, joined: 1, joinedAt: e.now}
	c.streams[x.stream] = append(c.streams[x.stream], f)
	e.start(f)
	return f
}

// meet is a collective of several classes, which come to those of one group in the same order.
func (e *engine) meet(c *runner, x *exchange) *flow {
	g := x.group
	i := c.issued[g] - e.passed[g]
	c.issued[g]++
	if i == len(e.meeting[g]) {
		e.meeting[g] = append(e.meeting[g], &flow{exchange: x})
	}
	f := e.meeting[g][i]
	f.joined, f.joinedAt = f.joined+1, e.now
	c.streams[collectives] = append(c.streams[collectives], f)
	if f.joined == len(f.classes) { // and so have all before it
		e.meeting[g] = slices.Delete(e.meeting[g], 0, 1)
		e.passed[g]++
		e.start(f)
	}
	return f
}

// message is a send or a receive; the message goes when both ends have come to it.
func (e *engine) message(x *exchange, micro int) *flow {
	k := channel{x.classes[0], x.classes[1], x.tag + x.each*micro}
	p := e.posts[k]
	if p == nil {
		p = &post{}
		e.posts[k] = p
	}
	own, other := &p.receives, &p.sends
	if x.send {
		own, other = other, own
	}
	if len(*other) == 0 {
		f := &flow{exchange: x, joined: 1}
		if x.send {
			f.joinedAt = e.now
		}
		*own = append(*own, f)
		return f
	}
	f := (*other)[0]
	if *other = (*other)[1:]; len(p.sends)+len(p.receives) == 0 {
		delete(e.posts, k)
	}
	f.joined++
	if x.send {
		f.joinedAt = e.now
	}
	e.launch(f)
	return f
}

// start starts a flow if it is the next one in the stream of each of its classes.
func (e *engine) start(f *flow) {
	if f.joined < len(f.classes) || f.state != pending {
		return
	}
	for _, i := range f.classes {
		if e.class[i].streams[f.stream][0] != f {
			return
		}
	}
	e.launch(f)
}

// launch has a flow go: first its latencies pass.
func (e *engine) launch(f *flow) {
	f.state = waiting
	for _, i := range f.classes {
		e.occupy(&e.class[i], f, f.busy)
	}
	f.since = e.now
	f.version++
	e.queue.push(timed{at: e.now + f.Latency, flow: f, version: f.version})
}

// flowed is the end of a flow's latencies, or of its bytes.
func (e *engine) flowed(f *flow) {
	if f.state == waiting && f.Time > f.Latency {
		f.state, f.left, f.since, f.rate = moving, f.Time-f.Latency, e.now, 0
		f.limits = make([]int64, len(f.classes))
		for at, i := range f.classes {
			c := &e.class[i]
			c.uses = append(c.uses, use{f, at})
		}
		e.shareAll(f)
		return
	}
	moved := f.state == moving
	f.state = ended
	if moved {
		for _, i := range f.classes {
			c := &e.class[i]
			c.uses = slices.DeleteFunc(c.uses, func(u use) bool { return u.flow == f })
		}
		e.shareAll(f)
	}
	e.traceFlow(f)
	for _, i := range f.classes {
		e.occupy(&e.class[i], f, -f.busy)
	}
	if f.stream != messages {
		for _, i := range f.classes {
			s := &e.class[i].streams[f.stream]
			*s = (*s)[1:]
		}
		for _, i := range f.classes {
			if s := e.class[i].streams[f.stream]; len(s) > 0 {
				e.start(s[0])
			}
		}
	}
	for _, i := range f.classes {
		if c := &e.class[i]; c.waits == f {
			e.wake(c)
		}
	}
}

// shareAll shares the links of a flow's classes anew.
func (e *engine) shareAll(f *flow) {
	for at, i := range f.classes {
		if at == 0 || i != f.classes[0] {
			e.share(&e.class[i])
		}
	}
}

// share gives the flows on a class's links their rates. A flow goes as fast as the slowest of its classes lets it.
func (e *engine) share(c *runner) {
	if len(c.uses) == 0 {
		return
	}
	for len(c.rates) < len(c.uses) {
		c.rates = append(c.rates, 0)
	}
	rates := c.rates[:len(c.uses)]
	if e.Alone {
		for i := range rates {
			rates[i] = full
		}
	} else {
		share(c.uses, rates, len(c.uses[0].demandOf()))
	}
	for i, u := range c.uses {
		u.limits[u.at] = rates[i]
		rate := slices.Min(u.limits)
		if rate == u.rate {
			continue
		}
		u.left = max(1, u.left-progress(e.now-u.since, u.rate))
		u.since, u.rate = e.now, rate
		u.version++
		if rate > 0 {
			e.queue.push(timed{at: e.now + stretched(u.left, rate), flow: u.flow, version: u.version})
		}
	}
}
