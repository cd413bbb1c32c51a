package eval

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"ptc/ir"
	"ptc/ir/tensor"
)

// errAborted ends the devices that wait when another has failed.
var errAborted = errors.New("another device failed")

// exchange is where simulated devices meet. A group is the devices that
// differ only in their coordinate on one mesh axis; its members meet once for
// each exchange, in their own order of execution.
type exchange struct {
	mesh []ir.MeshAxis
	n    int

	mu      sync.Mutex
	cond    *sync.Cond
	groups  map[string]*meeting
	waiting map[int]*meeting            // the devices that wait, and where
	mail    map[string][]*tensor.Tensor // messages on their way, by channel
	asleep  map[int]string              // the devices that wait for a message, and which
	left    int                         // devices that have ended
	failed  error                       // set once; ends everyone who waits
}

// meeting is one round of one group.
type meeting struct {
	what   string // operation and attributes, the same for all members
	values []*tensor.Tensor
	here   int
	first  int // device that opened it
	done   bool
}

func newExchange(mesh []ir.MeshAxis, n int) *exchange {
	ex := &exchange{mesh: mesh, n: n, groups: map[string]*meeting{}, waiting: map[int]*meeting{}, mail: map[string][]*tensor.Tensor{}, asleep: map[int]string{}}
	ex.cond = sync.NewCond(&ex.mu)
	return ex
}

// member is the [op.Context] Gather of a device.
func (ex *exchange) member(device int) func(o *ir.Op, mesh string, mine *tensor.Tensor) ([]*tensor.Tensor, error) {
	coord := tensor.Coord(ex.mesh, device)
	return func(o *ir.Op, mesh string, mine *tensor.Tensor) ([]*tensor.Tensor, error) {
		var key strings.Builder
		size := 0
		key.WriteString(mesh)
		for _, a := range ex.mesh {
			if a.Name == mesh {
				size = a.Size
				continue
			}
			fmt.Fprintf(&key, " %s=%d", a.Name, coord[a.Name])
		}
		if size == 0 {
			return nil, fmt.Errorf("the mesh has no axis `%s`", mesh)
		}
		what := o.Name + o.Attrs.String() + " of " + mine.Type.String()
		return ex.meet(device, key.String(), what, coord[mesh], size, mine)
	}
}

func (ex *exchange) meet(device int, key, what string, at, size int, mine *tensor.Tensor) ([]*tensor.Tensor, error) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.failed != nil {
		return nil, errAborted
	}
	g := ex.groups[key]
	if g == nil {
		g = &meeting{what: what, values: make([]*tensor.Tensor, size), first: device}
		ex.groups[key] = g
	}
	if g.what != what {
		ex.fail(fmt.Errorf("eval: collectives out of step: device %d is at %s, device %d at %s",
			min(g.first, device), pick(g.first < device, g.what, what), max(g.first, device), pick(g.first < device, what, g.what)))
		return nil, errAborted
	}
	g.values[at] = mine
	g.here++
	if g.here == size {
		delete(ex.groups, key) // the next round opens anew
		g.done = true
		ex.cond.Broadcast()
		return g.values, nil
	}
	ex.waiting[device] = g
	ex.stuck()
	for !g.done && ex.failed == nil {
		ex.cond.Wait()
	}
	delete(ex.waiting, device)
	if !g.done {
		return nil, errAborted
	}
	return g.values, nil
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// stuck fails the execution when every device that has not ended waits for a
// meeting that is not complete.
func (ex *exchange) stuck() {
	waits := 0
	for _, g := range ex.waiting {
		if !g.done {
			waits++
		}
	}
	for _, channel := range ex.asleep {
		if len(ex.mail[channel]) == 0 {
			waits++
		}
	}
	if waits == 0 || waits+ex.left < ex.n || ex.failed != nil {
		return
	}
	var at []string
	for d := 0; d < ex.n; d++ {
		if g := ex.waiting[d]; g != nil {
			at = append(at, fmt.Sprintf("device %d waits in %s", d, g.what))
		}
		if channel, ok := ex.asleep[d]; ok {
			at = append(at, fmt.Sprintf("device %d waits for %s", d, channel))
		}
	}
	if ex.left > 0 {
		at = append(at, fmt.Sprintf("%d devices have ended", ex.left))
	}
	ex.fail(fmt.Errorf("eval: deadlock: %s", strings.Join(at, "; ")))
}

func (ex *exchange) fail(err error) {
	if ex.failed == nil {
		ex.failed = err
	}
	ex.cond.Broadcast()
}

// leave records that a device has ended, with an error or not.
func (ex *exchange) leave(device int, err error) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.left++
	if err != nil {
		ex.fail(errAborted)
		return
	}
	ex.stuck()
}

// cause is why the execution failed: the first device's own error, else what
// went wrong between devices.
func (ex *exchange) cause(errs []error) error {
	for d, err := range errs {
		if err != nil && !errors.Is(err, errAborted) {
			return fmt.Errorf("device %d: %w", d, err)
		}
	}
	return ex.failed
}
