package cuda

import (
	"fmt"
	"runtime"
	"unsafe"

	"ptc/internal/units"
	"ptc/runtime/device"
)

// card is a GPU with the context and the stream of an engine, and what that makes there.
type card struct {
	drv     *driver
	gpu     gpu
	ordinal int     // of the GPU
	context uintptr // the GPU's primary one; 0: not retained
	stream  uintptr
	pins    [][]byte
	events  []uintptr // for times
	warn    func(text string)

	current, sync ready // makes the context that of the thread; waits for the stream
}

// openCard retains the context of the GPU of a rank. The card is to be closed also if there is an error.
func openCard(drv *driver, rank int, warn func(string)) (*card, error) {
	if warn == nil {
		warn = func(string) {}
	}
	c := &card{drv: drv, ordinal: rank % len(drv.gpus), warn: warn}
	c.gpu = drv.gpus[c.ordinal]
	ctx, err := drv.retain(c.gpu.device)
	if err != nil {
		return c, c.unusable(err)
	}
	c.context = ctx
	c.current = ready{drv.CtxSetCurrent, []uintptr{ctx}}
	if err := c.enter(); err != nil {
		return c, c.unusable(err)
	}
	defer runtime.UnlockOSThread()
	if c.stream, err = drv.newStream(); err != nil {
		return c, c.unusable(err)
	}
	c.sync = ready{drv.StreamSynchronize, []uintptr{c.stream}}
	return c, nil
}

func (c *card) unusable(err error) error {
	return fmt.Errorf("GPU %d (%s) cannot be used: %w", c.ordinal, c.gpu.name, err)
}

// enter makes the context that of the thread, which is the caller's alone until it unlocks it;
// after an error it is nobody's.
func (c *card) enter() error {
	runtime.LockOSThread()
	if err := c.drv.do(&c.current); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	return nil
}

// pin is zeroed memory of the host that copies reach while other things run. The engine frees it.
func (c *card) pin(n int64) ([]byte, error) {
	b, err := c.drv.allocHost(n)
	if code(err) == outOfMemory {
		return nil, &device.MemoryError{Msg: fmt.Sprintf("%s of the host, for what goes to the GPU and comes from it, cannot be pinned", units.Bytes(n)), Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("memory of the host cannot be pinned: %w", err)
	}
	c.pins = append(c.pins, b)
	clear(b)
	return b, nil
}

// room is the error of what could not be made on the GPU: where there is no memory for it, a
// *device.MemoryError that says how much is free.
func (c *card) room(what string, n int64, err error) error {
	on := fmt.Sprintf("GPU %d (%s)", c.ordinal, c.gpu.name)
	if code(err) != outOfMemory {
		return fmt.Errorf("there is no %s on %s: %w", what, on, err)
	}
	text := fmt.Sprintf("there is no room for %s of %s on %s", what, units.Bytes(n), on)
	if free, total, err := c.drv.memInfo(); err == nil {
		text += fmt.Sprintf(", which has %s free of %s", units.Bytes(free), units.Bytes(total))
	}
	return &device.MemoryError{Msg: text, Err: err}
}

// copied does a copy and waits for it. Copies are on the stream of the programs: what is pageable
// would otherwise still be on its way to the GPU when a program begins.
func (c *card) copied(copy func() error) error {
	err := c.enter()
	if err == nil {
		defer runtime.UnlockOSThread()
		err = copy()
	}
	if err == nil {
		err = c.drv.do(&c.sync)
	}
	if err != nil {
		return fmt.Errorf("memory of GPU %d (%s) cannot be copied: %w", c.ordinal, c.gpu.name, err)
	}
	return nil
}

// needEvents makes events up to so many.
func (c *card) needEvents(n int) error {
	for len(c.events) < n {
		x, err := c.drv.newEvent()
		if err != nil {
			return err
		}
		c.events = append(c.events, x)
	}
	return nil
}

// alive says why the GPU cannot go on behind a failure, or nil.
func (c *card) alive() error {
	if err := c.drv.do(&c.sync); err != nil {
		return c.unusable(err)
	}
	return nil
}

// queued are copies whose calls are ready.
type queued struct {
	list  []transfer // what the calls point to
	calls []ready
}

func (c *card) queue(list []transfer) queued {
	q := queued{list: list}
	for i := range list {
		q.calls = append(q.calls, ready{c.drv.Memcpy3DAsync, []uintptr{uintptr(unsafe.Pointer(&list[i])), c.stream}})
	}
	return q
}

// enqueue begins copies, one behind the other. It does not allocate.
func (c *card) enqueue(q *queued) error {
	for i := range q.calls {
		if err := c.drv.do(&q.calls[i]); err != nil {
			return err
		}
	}
	return nil
}

// begin does so for copies that are no program's.
func (c *card) begin(list []transfer) error {
	for i := range list {
		if err := c.drv.copy(&list[i], c.stream); err != nil {
			return err
		}
	}
	return nil
}

// close frees what the card holds. Its context is that of the thread.
func (c *card) close() {
	for _, x := range c.events {
		_ = c.drv.freeEvent(x)
	}
	for _, b := range c.pins {
		_ = c.drv.freeHost(b)
	}
	if c.stream != 0 {
		_ = c.drv.freeStream(c.stream)
	}
	_ = c.drv.release(c.gpu.device)
	c.context, c.stream, c.pins, c.events = 0, 0, nil, nil
}
