package comm_test

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	_ "ptc/runtime/comm/local"
	"ptc/runtime/device"
)

func openLocal(t testing.TB, devices int, o comm.Options) []comm.Device {
	t.Helper()
	devs, err := comm.Open("local", meshOf(devices), o)
	if err != nil {
		t.Fatal(err)
	}
	return devs
}

func TestLocalConformance(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			digests := map[int][]string{}
			for _, threads := range []int{1, 4} {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
				digests[threads] = make([]string, n)
				err := each(openLocal(t, n, comm.Options{}), func(d comm.Device) (err error) {
					digests[threads][d.Rank()], err = runSuite(d, 1, 60)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(digests[1], digests[4]) {
				t.Errorf("the results depend on the number of threads")
			}
		})
	}
}

// localTimeout is that of devices that fail. Those that only are slow, as all are on a
// busy machine, must not reach it.
const localTimeout = 2 * time.Second

func TestLocalFailures(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(failures)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			devs := openLocal(t, failureDevices, comm.Options{Timeout: localTimeout})
			err := each(devs, func(d comm.Device) error {
				return failures[name](d, func() { time.Sleep(2 * localTimeout) })
			})
			if err == nil {
				t.Fatal("no device failed")
			}
			if want := failureMessages[name]; !regexp.MustCompile(want).MatchString(err.Error()) {
				t.Errorf("found no match of %q in %q", want, err)
			}
			for _, d := range devs {
				call, err := d.Prepare(comm.Op{Kind: collective.Barrier, Group: d.Mesh().World()})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				if err := call.Run(); err == nil || time.Since(start) >= localTimeout {
					t.Errorf("after the failure device %d took %v to fail with %v", d.Rank(), time.Since(start), err)
				}
			}
		})
	}
}

// A device that returns while others still wait for it is no success.
func TestLocalEnded(t *testing.T) {
	devs := openLocal(t, 3, comm.Options{})
	err := each(devs, func(d comm.Device) error {
		if d.Rank() == 2 {
			return nil
		}
		call, err := d.Prepare(comm.Op{Kind: collective.Barrier, Group: d.Mesh().World(), Label: "step"})
		if err != nil {
			return err
		}
		return call.Run()
	})
	if err == nil || !strings.Contains(err.Error(), "rank 2 ended before barrier #1 step over all devices") {
		t.Errorf("the error is %v", err)
	}
}

// Groups of which each waits for another: the error says where the late rank is.
func TestLocalCrossedOrder(t *testing.T) {
	t.Parallel()
	devs := openLocal(t, 4, comm.Options{Timeout: localTimeout})
	err := each(devs, func(d comm.Device) error {
		axes := []string{"a", "b"}
		if d.Rank() == 0 || d.Rank() == 3 {
			slices.Reverse(axes)
		}
		for _, a := range axes {
			g, err := d.Mesh().Group(a)
			if err != nil {
				return err
			}
			call, err := d.Prepare(comm.Op{Kind: collective.Barrier, Group: g})
			if err != nil {
				return err
			}
			if err := call.Run(); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil || !regexp.MustCompile(`rank \d did not reach barrier #1 over [ab]: .*; rank \d waits in barrier #1 over [ab]`).MatchString(err.Error()) {
		t.Errorf("the error is %v", err)
	}
}

func TestLocalMisuse(t *testing.T) {
	for name, use := range map[string]func(c comm.Call) error{
		"was started twice":                 func(c comm.Call) error { _ = c.Start(); return c.Start() },
		"was awaited before it was started": func(c comm.Call) error { return c.Wait() },
		"too many operations of its group":  nil,
	} {
		d := openLocal(t, 2, comm.Options{Outstanding: 4})[0]
		prepare := func() comm.Call {
			c, err := d.Prepare(comm.Op{Kind: collective.Barrier, Group: d.Mesh().World()})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		if use == nil {
			use = func(c comm.Call) error {
				for range 5 {
					if err := prepare().Start(); err != nil {
						return err
					}
				}
				return nil
			}
		}
		if err := use(prepare()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// Operations that are started far ahead wait for slots, not for ever.
func TestLocalFewSlots(t *testing.T) {
	err := each(openLocal(t, 2, comm.Options{Outstanding: 2, InFlight: 1}), func(d comm.Device) error {
		_, err := runSuite(d, 3, 0)
		if err != nil {
			return err
		}
		var calls [2]comm.Call
		for i := range calls {
			if calls[i], err = d.Prepare(comm.Op{Kind: collective.Barrier, Group: d.Mesh().World()}); err != nil {
				return err
			}
		}
		for range 500 { // rank 0 leaves late in one order, rank 1 in the other
			for _, c := range calls {
				if err := c.Start(); err != nil {
					return err
				}
			}
			for i := range calls {
				if err := calls[(i+d.Rank())%2].Wait(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// replay is a step's worth of operations of one device.
func replay(d comm.Device, elems int) ([]comm.Call, error) {
	n, rank := d.Mesh().Size(), d.Rank()
	small, large := make([]byte, 4*elems), make([]byte, 4*elems*n)
	w := d.Mesh().World()
	var calls []comm.Call
	for _, op := range []comm.Op{
		{Kind: collective.AllReduce, Src: device.Bytes(large), Dst: device.Bytes(large), Inner: elems * n},
		{Kind: collective.ReduceScatter, Src: device.Bytes(large), Dst: device.Bytes(small), Inner: elems / 4, Outer: 4},
		{Kind: collective.AllGather, Src: device.Bytes(small), Dst: device.Bytes(large), Inner: elems},
		{Kind: collective.Send, Src: device.Bytes(small), Inner: elems, Peer: (rank + 1) % n},
		{Kind: collective.Recv, Dst: device.Bytes(make([]byte, 4*elems)), Inner: elems, Peer: (rank + n - 1) % n},
		{Kind: collective.Barrier},
	} {
		op.DType = dtype.F32
		if op.Kind != collective.Send && op.Kind != collective.Recv {
			op.Group = w
		}
		c, err := d.Prepare(op)
		if err != nil {
			return nil, err
		}
		calls = append(calls, c)
	}
	return calls, nil
}

func TestLocalNoAllocation(t *testing.T) {
	const steps, windows = 200, 5
	// A collection empties the lists from which Go's runtime takes its own objects
	// for goroutines that park, and filling them takes some time.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var allocated [windows + 1]uint64
	err := each(openLocal(t, 4, comm.Options{}), func(d comm.Device) error {
		calls, err := replay(d, 4096)
		if err != nil {
			return err
		}
		for step := range windows*steps + 1 {
			if d.Rank() == 0 && step%steps == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				allocated[step/steps] = m.Mallocs
			}
			for _, c := range calls {
				if err := c.Run(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	least := uint64(math.MaxUint64)
	for i := range windows {
		least = min(least, allocated[i+1]-allocated[i])
	}
	if least > 5 { // an allocation of ours would be there in every step
		t.Errorf("at least %d allocations in %d steps of 4 devices", least, steps)
	}
}

func BenchmarkLocalAllReduce(b *testing.B) {
	for _, devices := range []int{2, 4} {
		for _, bytes := range []int{4, 64 << 10, 16 << 20} {
			b.Run(fmt.Sprintf("devices=%d/bytes=%d", devices, bytes), func(b *testing.B) {
				b.SetBytes(int64(bytes))
				b.ReportAllocs()
				err := each(openLocal(b, devices, comm.Options{}), func(d comm.Device) error {
					buf := make([]byte, bytes)
					c, err := d.Prepare(comm.Op{Kind: collective.AllReduce, Group: d.Mesh().World(), DType: dtype.F32, Inner: bytes / 4, Src: device.Bytes(buf), Dst: device.Bytes(buf)})
					for i := 0; i < b.N && err == nil; i++ {
						err = c.Run()
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
