package native

import (
	"fmt"
	"os"
	"syscall"
)

// Fault is a signal that native code raised: a fault of the code, or of what was
// done to it. The thread that raised it never runs again.
type Fault struct {
	Signal syscall.Signal
	Addr   uintptr // that could not be reached, of SIGSEGV and SIGBUS
	PC     uintptr
	Symbol string  // whose code PC is in, "" outside of the image
	Offset uintptr // of PC in it
}

func (f Fault) String() string {
	s := f.Signal.String()
	if f.Signal == syscall.SIGSEGV || f.Signal == syscall.SIGBUS {
		s += fmt.Sprintf(" at address %#x", f.Addr)
	}
	if f.Symbol == "" {
		return s + fmt.Sprintf(", at an instruction outside of the code, %#x", f.PC)
	}
	return s + fmt.Sprintf(", at instruction %s+%#x", f.Symbol, f.Offset)
}

// faultCode is what the process exits with after a fault.
const faultCode = 4

// OnFault lets f be called, on a goroutine of its own, when code that the team
// runs faults: to say so and to end the process, which is ended after f anyway.
// It is called before the first Replay.
func (t *Team) OnFault(f func(Fault)) { t.onFault = f }

// report tells of a fault of a team, nil if it is not known, and ends the process.
func (t *Team) report(f Fault) {
	if t != nil {
		if p := t.job.p; p != nil {
			f.Symbol, f.Offset = p.img.find(f.PC)
		}
		if t.onFault != nil {
			t.onFault(f)
			os.Exit(faultCode)
		}
	}
	fmt.Fprintf(os.Stderr, "native code faulted: %v\n", f)
	os.Exit(faultCode)
}

// find is the symbol that an instruction belongs to.
func (img *Image) find(pc uintptr) (name string, offset uintptr) {
	for _, mem := range img.mem {
		if base := addressOf(mem); pc < base || pc >= base+uintptr(len(mem)) {
			continue
		}
		at := uintptr(0)
		for s, a := range img.symbols {
			if a <= pc && (a > at || a == at && s < name) {
				name, at = s, a
			}
		}
		return name, pc - at
	}
	return "", 0
}
