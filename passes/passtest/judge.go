package passtest

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/verify"
	"ptc/passes/check"
	"ptc/passes/validate"
)

// Prover mutates correct modules, asks the proofs of a plan (the verifier, and
// value numbering against the module as it was), and executes. A mutant that
// they accept must compute the same bits; one that is refused as malformed is
// not executed.
type Prover struct {
	mu    sync.Mutex
	tried map[string]*tally
}

// tally counts the mutants of one kind.
type tally struct{ malformed, harmful, harmless, accepted int }

// structural are the codes of what is no module of any program: what the
// evaluator need not be able to execute.
var structural = []string{"E0310", "E0311", "E0312", "E0313", "E0314", "E0315", "E0316", "E0317", "E0318"}

// Try makes n mutants of each kind of m, which is correct, and whose inputs are
// in. A harmful one that is accepted fails the test.
func (p *Prover) Try(t *testing.T, m *ir.Module, in check.Inputs, kinds []Mutation, n int) {
	t.Helper()
	table := validate.New()
	was, err := table.Module(m)
	if err != nil {
		t.Fatal(err)
	}
	if errs := verify.Module(m); len(errs) > 0 {
		t.Fatal(errs)
	}
	want, err := OnDevices(m, in)
	if err != nil {
		t.Fatal(err)
	}
	var next *ir.Module // a copy that nothing has changed yet
	for _, kind := range kinds {
		for seed, made := 0, 0; made < n && seed < 8*n; seed++ {
			if next == nil {
				next = m.Clone()
			}
			mutant, r := next, rand.New(rand.NewSource(int64(seed)))
			if !kind.Apply(r, mutant) {
				continue
			}
			next = nil
			made++
			if m.Level == ir.Local && r.Intn(2) == 0 {
				Restate(mutant)
			}
			reason, malformed := refused(table, was, mutant)
			if malformed {
				p.count(m, kind, func(c *tally) { c.malformed++ })
				continue
			}
			got, err := OnDevices(mutant, in)
			changed := err != nil || !maps.Equal(want, got)
			p.count(m, kind, func(c *tally) {
				switch {
				case changed && reason == nil:
					t.Errorf("%s, %s, seed %d: accepted, and %s", m.Level, kind.Name, seed, difference(want, got, err))
				case changed:
					c.harmful++
				case reason != nil:
					c.harmless++
				default:
					c.accepted++
				}
			})
		}
	}
}

func (p *Prover) count(m *ir.Module, kind Mutation, f func(c *tally)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tried == nil {
		p.tried = map[string]*tally{}
	}
	key := fmt.Sprintf("%-7s %s", m.Level, kind.Name)
	if p.tried[key] == nil {
		p.tried[key] = &tally{}
	}
	f(p.tried[key])
}

// refused is why the proofs refuse m, nil if they do not, and whether m is not
// even a module.
func refused(table *validate.Table, was *validate.Numbered, m *ir.Module) (reason error, malformed bool) {
	if errs := verify.Module(m); len(errs) > 0 {
		return errs, slices.ContainsFunc(errs, func(e *diag.Error) bool { return slices.Contains(structural, e.Code) })
	}
	now, err := table.Module(m)
	if err != nil {
		return err, false
	}
	return table.Same(was, now), false
}

func difference(want, got map[string]string, err error) string {
	if err != nil {
		return err.Error()
	}
	var keys []string
	for k, v := range want {
		if got[k] != v {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	return fmt.Sprintf("%d results change: %s …", len(keys), strings.Join(keys[:min(3, len(keys))], ", "))
}

// Report logs what became of the mutants of each kind, and returns how many
// there were, and how many of them would have changed or hung the run.
func (p *Prover) Report(t *testing.T) (tried, harmful, accepted int) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(p.tried))
	var malformed int
	for _, k := range keys {
		c := p.tried[k]
		n := c.malformed + c.harmful + c.harmless + c.accepted
		t.Logf("%-58s %4d tried: refused %4d malformed, %4d harmful, %4d harmless; accepted %4d harmless", k, n, c.malformed, c.harmful, c.harmless, c.accepted)
		tried, harmful, accepted, malformed = tried+n, harmful+c.harmful, accepted+c.accepted, malformed+c.malformed
	}
	t.Logf("%d mutants; refused %d malformed, %d harmful, %d harmless; accepted %d harmless", tried, malformed, harmful, tried-malformed-harmful-accepted, accepted)
	return tried, harmful, accepted
}
