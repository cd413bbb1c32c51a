package train

import (
	"bytes"
	"errors"
	"hash/fnv"
	"time"

	"ptc/runtime/checkpoint"
	"ptc/runtime/checkpoint/folderlock"
	"ptc/runtime/comm"
)

// Work that every process does by itself, such as writing its part of a checkpoint, may take longer than the
// timeout of a wait. So all processes say now and then that they are at work:
//
//	rank 0   work ── at work ── done ─────────────── done ▶ goes on
//	rank 1   work ── at work ──── work ─── at work ─ done ▶ goes on
//
// A process that dies meanwhile is missed after the time of any other wait.

// inTouch tells the others that this process is at work until done is closed, and returns when all have finished.
// Every process calls it at the same point.
func (p *processes) inTouch(done <-chan struct{}) error {
	for {
		mine := byte(1)
		select {
		case <-done:
			mine = 0
		case <-time.After(beatEvery):
		}
		all, err := comm.Gather(p.end, []byte{mine}, "while a checkpoint is written")
		if err != nil {
			return err
		}
		working := false
		for _, x := range all {
			working = working || x != 0
		}
		if !working {
			return nil
		}
	}
}

// busy does work, and returns when all processes have done theirs. Its error is that of losing touch.
func (p *processes) busy(work func()) error {
	if p.end == nil {
		work()
		return nil
	}
	done, lost := make(chan struct{}), make(chan error, 1)
	go func() { lost <- p.inTouch(done) }()
	work()
	close(done)
	return <-lost
}

// several says whether there is more than one process.
func (p *processes) several() bool { return p.end != nil && p.end.Mesh().Size() > 1 }

// peers are the processes for what they do together about a checkpoint; nil: there is one.
func (p *processes) peers() *checkpoint.Peers {
	if !p.several() {
		return nil
	}
	return &checkpoint.Peers{Rank: p.end.Rank(), Size: p.end.Mesh().Size(), Gather: func(mine []byte) ([]byte, error) {
		all, err := comm.Gather(p.end, mine, "about a checkpoint")
		if err != nil {
			return nil, &Error{Code: codeOf(err), Msg: "the processes cannot agree on a checkpoint", Err: err}
		}
		return all, nil
	}}
}

// everyones is an error where every process has one, if not of losing touch: the root says it, who knows it
// from the others.
func (p *processes) everyones(err error) error {
	var c *comm.Error
	if err == nil || errors.As(err, &c) {
		return err
	}
	return p.everywhere(err)
}

// onMyHost is how many of the processes are on this one's host.
func (p *processes) onMyHost() (n int, err error) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(folderlock.Self().Host)) // which never fails
	mine := h.Sum(nil)
	all, err := comm.Gather(p.end, mine, "their hosts")
	if err != nil {
		return 0, err
	}
	for ; len(all) > 0; all = all[len(mine):] {
		if bytes.Equal(all[:len(mine)], mine) {
			n++
		}
	}
	return n, nil
}
