package fake

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"

	"ptc/runtime/device"
	"ptc/runtime/program"
)

// Latest is the seed of the engine that runs everything as late as it may, and
// what has no order backwards.
const Latest = 0

// Wrap makes fake engines of right ones. Any seed but Latest gives random times and
// orders, each device its own.
func Wrap(seed uint64) func(device.Opener) device.Opener {
	return func(open device.Opener) device.Opener {
		return func(r device.Request) (device.Engine, error) { return newEngine(open, r, seed) }
	}
}

// Env is the variable that puts tests onto fake engines: its value is a seed.
const Env = "PTC_TEST_FAKE"

// FromEnv puts fake engines in the place of all, where Env says so, and says
// whether it did. A test's init calls it.
func FromEnv() bool {
	seed, err := strconv.ParseUint(os.Getenv(Env), 10, 64)
	if err != nil {
		return false
	}
	device.Wrap(Wrap(seed))
	return true
}

// engine is one device.
type engine struct {
	r        device.Request
	inner    device.Engine
	memories map[string]*memory
	rng      *rand.Rand // nil: as late as possible
	jobs     chan *job

	mu       sync.Mutex
	launched bool      // and not waited for
	flights  []*flight // under way, in the order of their starts
}

func newEngine(open device.Opener, r device.Request, seed uint64) (device.Engine, error) {
	hidden := r
	if r.Exchanges != nil {
		hidden.Exchanges = refused{}
	}
	inner, err := open(hidden)
	if err != nil {
		return nil, err
	}
	e := &engine{r: r, inner: inner, memories: map[string]*memory{}, jobs: make(chan *job, 1)}
	if seed != Latest {
		e.rng = rand.New(rand.NewPCG(seed, uint64(r.Rank)))
	}
	for _, name := range []string{"", program.Host, program.Disk} {
		if m := inner.Memory(name); m != nil {
			e.memories[name] = newMemory(e, name, m)
			e.memories[name].spoil(0, m.Size())
		}
	}
	go func() {
		for j := range e.jobs {
			j.run()
		}
	}()
	return e, nil
}

// refused is the communication of the engine inside, which has none.
type refused struct{}

func (refused) Serves(device.Memory) bool { return true }
func (refused) Prepare(int, int, func(int) device.Range) (device.Exchange, error) {
	return device.Exchange{Call: refused{}}, nil
}
func (refused) Start() error  { return fmt.Errorf("fake: the engine inside communicates") }
func (r refused) Wait() error { return r.Start() }
func (r refused) Run() error  { return r.Start() }

func (e *engine) Memory(name string) device.Memory {
	if m := e.memories[name]; m != nil {
		return m
	}
	return nil
}

func (e *engine) Close() {
	close(e.jobs)
	for _, m := range e.memories {
		m.closed = true
	}
	e.inner.Close()
}

// at is where a buffer's elements lie.
func (e *engine) at(buffer int) place {
	b := &e.r.Device.Buffers[buffer]
	return place{e.memories[b.Memory], b.Offset, b.Size()}
}

// chance is true as often as not, never where all is as late as possible.
func (e *engine) chance() bool { return e.rng != nil && e.rng.IntN(2) == 0 }
