package exec

import (
	"sync"
	"testing"
	"time"

	"ptc/internal/collective"
	"ptc/runtime/program"
)

// TestBlocked: devices wait for the one that is late, in a communication and where one that
// was started is waited for; a device alone waits for nobody.
func TestBlocked(t *testing.T) {
	const late = 60 * time.Millisecond
	for _, started := range []bool{false, true} {
		c := exchanges[0].comm
		c.Start = started
		plan := exchangePlan(c, exchanges[0].src, exchanges[0].dst)
		if started {
			step := &plan.Devices[0].Progs[0]
			step.Instrs = append(step.Instrs, program.Instr{Comm: &program.Comm{Kind: collective.Done}})
		}
		var mu sync.Mutex
		var others []time.Duration
		var ready sync.WaitGroup
		ready.Add(3)
		apart(t, plan, func(m *Machine) error {
			if err := m.Step(); err != nil { // all are there
				return err
			}
			before := m.Blocked(nil)
			if m.Root() {
				ready.Wait()
				time.Sleep(late)
			} else {
				ready.Done()
			}
			if err := m.Step(); err != nil {
				return err
			}
			after := m.Blocked(nil)
			if len(before) != 1 || len(after) != 1 || after[0] < before[0] {
				t.Errorf("started %v: blocked for %v, then %v", started, before, after)
				return nil
			}
			if !m.Root() {
				mu.Lock()
				others = append(others, after[0]-before[0])
				mu.Unlock()
			}
			return nil
		})
		for _, d := range others {
			if d < late/4 {
				t.Errorf("started %v: a device waited %v for one that was %v late", started, d, late)
			}
		}
		if len(others) != 3 {
			t.Errorf("started %v: %d devices waited", started, len(others))
		}
	}
}

// TestBlockedAlone: one device has nobody to wait for.
func TestBlockedAlone(t *testing.T) {
	plan := exchangePlan(program.Comm{Kind: collective.AllReduce, Over: []string{"dp"}, Reduce: "sum", Outer: 1, Inner: 32}, matrix(nil, nil), matrix(nil, nil))
	plan.Mesh = []program.MeshAxis{{Name: "dp", Size: 1}}
	m := machine(t, plan, 1)
	if err := m.Step(); err != nil {
		t.Fatal(err)
	}
	if d := m.Blocked(nil); d != nil {
		t.Errorf("blocked for %v", d)
	}
}
