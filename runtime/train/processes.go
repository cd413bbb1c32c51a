package train

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"ptc/runtime/comm"
	"ptc/runtime/program"
)

// processes run a plan together, each with one device. All do the same. The root, which has rank 0, alone tells
// the steps and writes files; each process writes its part of a checkpoint. If one process has all devices, end
// is nil.
type processes struct {
	end   comm.Device
	stop  func(mine bool) (bool, error) // whether one of all is to end
	ended *stepEnd                      // what all say after a step

	// alike says that the error which ends the run is one that every process
	// has, so that it needs not end the others.
	alike bool
}

// Elsewhere is the error of a process that ends because of another one, which
// says why.
type Elsewhere struct {
	Rank int
	Code int // what the process exits with, as that one does
}

func (e *Elsewhere) Error() string { return fmt.Sprintf("rank %d failed", e.Rank) }

// ExitCode is what the process should exit with.
func (e *Elsewhere) ExitCode() int { return e.Code }

// connect compares the plans of all processes. If it fails, the processes are still to be disconnected.
func connect(plan *program.Plan, ends []comm.Device) (*processes, error) {
	p := new(processes)
	if len(ends) == 0 {
		return p, nil
	}
	if len(ends) > 1 {
		return p, errorf(ExitBug, "this process has %d devices, but each process must have one", len(ends))
	}
	p.end = ends[0]
	text, err := program.Encode(plan)
	if err != nil {
		return p, &Error{Code: ExitBug, Msg: "ptc cannot encode the plan to compare it", Err: err}
	}
	if err := comm.SamePlan(p.end, sha256.Sum256(text)); err != nil {
		var c *comm.Error
		if errors.As(err, &c) && c.Reason == comm.ReasonMismatch && c.Op == "" {
			return p, p.everywhere(err)
		}
		return p, err
	}
	if p.stop, err = comm.Any(p.end, "between two steps"); err == nil {
		p.ended, err = newStepEnd(p.end)
	}
	return p, err
}

// root says whether the process writes the files.
func (p *processes) root() bool { return p.end == nil || p.end.Rank() == 0 }

// rank is that of the process's device, -1 where it has all.
func (p *processes) rank() int {
	if p.end == nil {
		return -1
	}
	return p.end.Rank()
}

// everywhere is an error that every process has: the root says it.
func (p *processes) everywhere(err error) error {
	p.alike = true
	if err == nil || p.root() {
		return err
	}
	return &Elsewhere{Rank: 0, Code: codeOf(err)}
}

// agree fails on every process if one has an error; the first of them says it.
func (p *processes) agree(err error) error {
	if p.end == nil || err != nil && p.alike { // all know of it
		return err
	}
	mine := byte(0)
	if err != nil {
		mine = byte(max(1, codeOf(err)))
	}
	all, e := comm.Gather(p.end, []byte{mine}, "before the first step")
	if e != nil {
		return &Error{Code: codeOf(e), Msg: "the processes cannot agree", Err: e}
	}
	for rank, code := range all {
		if code == 0 {
			continue
		}
		p.alike = true
		if rank == p.end.Rank() {
			return err
		}
		return &Elsewhere{Rank: rank, Code: int(code)}
	}
	return nil
}

// stopped says whether the run is to end before the next step: on all processes
// when it is on one.
func (p *processes) stopped(ctx context.Context) (bool, error) {
	switch {
	case p.end == nil:
		return ctx.Err() != nil, nil
	case p.ended.asked:
		p.ended.asked = false
		return p.ended.stop, nil
	}
	return p.stop(ctx.Err() != nil)
}

// stepEnded gives the milliseconds that each device of the plan was blocked, in the room of out; nil where that is
// not measured. mine are those of this process's devices, and parts the bits of its work for a checkpoint. Every
// process calls it after a step, and between it and the next question of stopped nothing may take long, unless
// askAgain is called.
func (p *processes) stepEnded(ctx context.Context, mine []time.Duration, parts byte, out []float64) ([]float64, error) {
	if p.end != nil {
		ns := int64(-1)
		if len(mine) == 1 {
			ns = int64(mine[0])
		}
		return p.ended.exchange(ctx.Err() != nil, parts, ns, out)
	}
	for _, d := range mine {
		out = append(out, ms(d))
	}
	return some(out), nil
}

// askAgain has stopped ask anew: what follows a step takes so long that a process may
// be told to stop meanwhile. Every process calls it at the same point.
func (p *processes) askAgain() {
	if p.ended != nil {
		p.ended.asked = false
	}
}

// preempted says whether a run that was stopped is to be started again: on all
// processes when one of them was told so.
func (p *processes) preempted(ctx context.Context) (bool, error) {
	mine := errors.Is(context.Cause(ctx), ErrPreempted)
	if p.end == nil {
		return mine, nil
	}
	return p.stop(mine)
}

// disconnect ends the communication after a run, by force if the other processes
// do not know of its error.
func (p *processes) disconnect(err error) error {
	if p.end == nil {
		return err
	}
	if err != nil && !p.alike {
		p.end.Abort(err)
		return err
	}
	if e := p.end.Close(); err == nil {
		return e
	}
	return err
}
