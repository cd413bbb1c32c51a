package native

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestApart puts a thread on the processor of another one, and checks that it leaves it, if
// there is another, may run afterwards where it could before, and then stays for a while.
func TestApart(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &may)
	team := &Team{spread: true, seats: make([]seat, 2)}
	join := func() (shared int) {
		shared = processor()
		team.seats[0].processor.Store(int32(shared + 1))
		team.apart(1)
		if got := int(team.seats[1].processor.Load()) - 1; (got == shared) != (processor() == shared) {
			t.Errorf("the thread is on processor %d, and says %d", processor(), got)
		}
		return shared
	}
	// The kernel may move the thread by itself between two lines of this test.
	for n := 0; ; n++ {
		team.seats[1].moved = time.Time{}
		if shared := join(); (processor() == shared) == (may.Count() == 1) {
			break
		} else if n == 20 {
			t.Fatalf("the thread is on processor %d with another one", shared)
		}
	}
	at := team.seats[1].moved
	if join(); !team.seats[1].moved.Equal(at) && time.Since(at) < movedAgain {
		t.Errorf("the thread was moved twice in %s", time.Since(at))
	}
	var now unix.CPUSet
	if err := unix.SchedGetaffinity(0, &now); err != nil || now != may {
		t.Errorf("the thread may run on %d processors, not %d (%v)", now.Count(), may.Count(), err)
	}
}
