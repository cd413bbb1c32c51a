package sim

import (
	"ptc/foresight/cost"
	"ptc/internal/rolled"
	"ptc/runtime/program"
)

// again is what another software computes once more than the plan at the begin of a block's backward pass. A plan computes again
// what the backward pass reads. Software that calls the block again also computes its end: the last product, its collective, and
// what follows. These are instructions of the run of the forward pass; nil if the plan computes nothing again, or not all
// other products of the block.
func (w *writer) again(run int) []int {
	if !w.options.Again || !w.prog.Runs[run].Down {
		return nil
	}
	if out, ok := w.repeated[run]; ok {
		return out
	}
	w.repeated[run] = nil
	for i := range w.prog.Runs {
		if f := &w.prog.Runs[i]; f.Stack == w.prog.Runs[run].Stack && !f.Down {
			if tail := w.tail(f, &w.prog.Runs[run]); tail != nil {
				w.repeated[run] = tail
				break
			}
		}
	}
	return w.repeated[run]
}

// tail is the instructions of a forward run from its last product on, if the backward run computes all of its other products again
// and not this one.
func (w *writer) tail(forward, backward *program.Run) (out []int) {
	found := map[product]int{}
	for i := backward.From; i < backward.To; i++ {
		if p := w.product(i); p != nil {
			found[*p]++
		}
	}
	products := 0
	for i := forward.From; i < forward.To; i++ {
		p := w.product(i)
		switch {
		case p == nil && out == nil:
		case p == nil:
			out = append(out, i)
		case out != nil:
			return nil
		default:
			if products++; found[*p] <= p.gradients() {
				out = []int{i}
			}
		}
	}
	if products < 2 {
		return nil
	}
	return out
}

// product is a matrix product of one place in the source.
type product struct {
	pos string
	cost.Product
}

// gradients is how many of the two products that are the gradients of p's factors have p's own sizes: those of the left factor are
// [M, N] · [N, K], of the right one [K, M] · [M, N].
func (p *product) gradients() (n int) {
	if p.N == p.K {
		n++
	}
	if p.K == p.M {
		n++
	}
	return n
}

// product is that of an instruction, or nil.
func (w *writer) product(i int) *product {
	in := &w.prog.Instrs[i]
	if in.Comm != nil || len(w.work[in.Kernel]) != 1 || w.work[in.Kernel][0].Product == nil {
		return nil
	}
	return &product{in.Pos, *w.work[in.Kernel][0].Product}
}

// repeat adds what is computed again at the begin of an instance of a run.
func (w *writer) repeat(s *segment, o rolled.Issue) {
	r := w.order.RunOf(o.Op)
	if r < 0 || w.prog.Runs[r].From != o.Op {
		return
	}
	for _, i := range w.again(r) {
		in := &w.prog.Instrs[i]
		if in.Comm == nil {
			w.kernel(s, rolled.Issue{Op: i, Instance: o.Instance}, in)
		} else if x := w.exchange(i); x != nil {
			s.issued(w.hostOf(i))
			s.add(x.cause, x.Time, false)
			s.waited(x.Time, w.options.Profiled)
		}
	}
}
