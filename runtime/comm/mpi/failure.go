package mpi

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"ptc/runtime/comm"
)

// Abort prints the cause and ends all processes.
func (d *end) Abort(cause error) { _ = d.fail(cause) }

// fail ends the job because of an error, unless it has failed before. MPI_Abort
// does not return where the launcher works as it should.
func (d *end) fail(err error) error {
	if !d.failed.CompareAndSwap(nil, &failure{err}) {
		return comm.Aborted(d.rank, d.failed.Load().err)
	}
	fmt.Fprintf(d.log, "ptc: rank %d: %v\n", d.rank, err)
	code := 1
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		code = coded.ExitCode()
	}
	// A call of the library that hangs must not keep the job from ending.
	for range 1000 {
		if d.mu.TryLock() {
			defer d.mu.Unlock()
			break
		}
		time.Sleep(time.Millisecond)
	}
	if !d.closed {
		// Not the device's: another call may still be using its arguments.
		abort := &caller{library: d.lib.library}
		abort.args = [8]uintptr{d.lib.world, uintptr(code)}
		abort.call(abort.abort, 2)
	}
	return err
}

// graceTime is how long a wait goes on after SIGTERM before it is reported: less
// than Open MPI gives a process (odls_base_sigkill_timeout, 1 s), and enough for
// other devices that are well to come to the same operation.
const graceTime = 700 * time.Millisecond

// reportTermination prints, when a launcher ends the processes because one died,
// what this one waits for: a wait that does not end soon after SIGTERM. It does
// not end the process itself: ptc finishes its step and saves its state after
// SIGTERM, and a launcher that cannot wait sends SIGKILL.
func (d *end) reportTermination() {
	d.signals = make(chan os.Signal, 1)
	signal.Notify(d.signals, syscall.SIGTERM)
	go func() {
		for range d.signals {
			before := d.waits()
			time.Sleep(graceTime)
			var waits []string
			for w, text := range d.waits() {
				if _, still := before[w]; still {
					waits = append(waits, text)
				}
			}
			slices.Sort(waits)
			if waits != nil {
				fmt.Fprintf(d.log, "ptc: rank %d: told to end (SIGTERM), it still waits in %s\n", d.rank, strings.Join(waits, ", and in "))
			}
		}
	}()
}

// wait is one call of an operation that somebody waits for.
type wait struct {
	call *call
	seq  uint64
}

// waits are those under way, with what they wait for.
func (d *end) waits() map[wait]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[wait]string{}
	for _, c := range d.waiting {
		if !c.done {
			all[wait{c, c.seq}] = fmt.Sprintf("%s for %s", c.describe(), comm.RankList(c.pending()))
		}
	}
	return all
}
