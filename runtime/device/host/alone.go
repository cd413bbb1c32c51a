package host

import "ptc/runtime/program"

// What several threads cost and gain, as orders of magnitude: they decide who
// computes and never what.
const (
	flopsPerNs  = 50.0    // of one thread with vectors
	bytesPerNs  = 20.0    // that one thread reads and writes in its caches
	sharedPerNs = 10.0    // that come from the caches of another one
	cached      = 1 << 20 // bytes that a thread finds in its cache if it wrote them itself
	meetNs      = 2000.0  // to meet before and after a launch
	wakeNs      = 50000.0 // to have the other threads begin, once for all launches up to a stop
)

// gain is about how many nanoseconds less a launch of so many k takes on n threads than
// on one, if thread 0 alone ran what was before it.
func gain(k *program.Kernel, launched, n int) float64 {
	others, bytes := 1-1/float64(n), k.Bytes*int64(launched)
	time := float64(k.Flops*int64(launched))/flopsPerNs + float64(bytes)/bytesPerNs
	return time*others - meetNs - float64(min(bytes, cached))*others/sharedPerNs
}

// alone says which instructions of a program thread 0 runs by itself: launches that
// gain nothing by several threads, and all between two stops where they gain less in all
// than waking those costs.
func alone(plan *program.Plan, p *program.Program, threads int) []bool {
	out := make([]bool, len(p.Instrs))
	for from := 0; from < len(p.Instrs); {
		to, sum := from, 0.0
		for to < len(p.Instrs) && p.Instrs[to].Comm == nil {
			n := 1
			for to+n < len(p.Instrs) && p.Instrs[to+n].With {
				n++
			}
			g := gain(&plan.Kernels[p.Instrs[to].Kernel], n, threads)
			for range n {
				out[to] = g <= 0
				to++
			}
			sum += max(g, 0)
		}
		for i := from; i < to && sum < wakeNs; i++ {
			out[i] = true
		}
		from = to + 1
	}
	return out
}
