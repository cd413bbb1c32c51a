package cuda

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"ptc/runtime/cuda/blaslt"
)

// choose gives the algorithms by which the library is faster than a kernel; none where it is not. The
// error says why it cannot compute the products.
func (b *blas) choose(l *launch) ([]blaslt.Algorithm, error) {
	products, err := b.described(l)
	if err != nil {
		return nil, err
	}
	offers, err := b.offers(l, products)
	if err != nil {
		return nil, err
	}
	key := b.key(l)
	decided.Lock()
	defer decided.Unlock()
	algos, known := decided.of[key]
	known = known && offered(algos, offers)
	if !known {
		algos, known = load(folders(b.r.Cache), key, offers)
	}
	if known {
		return algos, b.rehearse(l, products, algos)
	}
	if algos, err = b.race(l, products, offers); err != nil {
		return nil, err
	}
	if decided.of == nil {
		decided.of = map[choiceKey][]blaslt.Algorithm{}
	}
	decided.of[key] = algos
	save(folders(b.r.Cache), key, algos)
	return algos, nil
}

// key says what a choice is of: the products and how they are aligned, the kernel that computes them, the GPU,
// its driver and the library.
func (b *blas) key(l *launch) choiceKey {
	h := sha256.New()
	text, err := json.Marshal(l.kernel.Products)
	if err != nil {
		panic(err) // numbers and names
	}
	fmt.Fprintf(h, "%q %d %d %s %q %d %d %d", b.gpu.name, b.drv.version, b.library.Version, text, l.kernel.IR, l.kernel.Threads, l.kernel.Tasks, l.kernel.Shared)
	fmt.Fprintf(h, " %x %d", sha256.Sum256(b.r.Plan.Code[l.kernel.Code].Data), b.limit)
	for _, at := range l.at {
		for _, x := range []uint64{at.Left, at.Right, at.Add, at.Bias, at.Out} {
			fmt.Fprintf(h, " %d", blaslt.Alignment(x))
		}
	}
	return choiceKey(h.Sum(nil))
}

// rehearse runs what was chosen once: the library loads its code when it is first needed, which it cannot
// while a stream is captured. What fails does so here.
func (b *blas) rehearse(l *launch, products []*blaslt.Product, algos []blaslt.Algorithm) error {
	list := make([]matmul, len(algos))
	for i, a := range algos {
		list[i] = matmul{products[i], l.at[i], a}
	}
	if err := b.enqueue(list); err != nil {
		return err
	}
	if err := b.drv.do(&b.sync); err != nil || len(list) == 0 {
		return err
	}
	g, err := b.capture(list)
	if err == nil {
		err = b.drv.freeGraph(g)
	}
	return err
}

// adder adds what is timed to a graph.
type adder func(graph uintptr, after []uintptr) (uintptr, error)

// gain is by how many percent the library has to be faster: less is as much as times differ by.
const gain = 3

// race times the own kernel and the library's algorithms, and gives the latter where they win. Of
// several products each has its fastest, and all together are held to the kernel.
func (b *blas) race(l *launch, products []*blaslt.Product, offers [][]blaslt.Algorithm) ([]blaslt.Algorithm, error) {
	node, err := b.node(l.in)
	if err != nil {
		return nil, err
	}
	own := func(g uintptr, after []uintptr) (uintptr, error) { return b.drv.addKernel(g, after, node) }
	once, err := b.time(1, own)
	if err != nil {
		return nil, err
	}
	repeats := int(min(mostRepeats, max(1, enoughTime/max(1, once))))
	limit := once
	if repeats > 1 {
		if limit, err = b.time(repeats, own); err != nil {
			return nil, err
		}
	}
	var best []matmul
	var algos []blaslt.Algorithm
	var took time.Duration
	for i, p := range products {
		var failed error
		fastest := time.Duration(-1)
		m := matmul{product: p, at: l.at[i]}
		for _, a := range offers[i] {
			t, err := b.timeProducts(repeats, []matmul{{p, l.at[i], a}})
			if err != nil {
				failed = err
				if err := b.drv.do(&b.sync); err != nil {
					return nil, err
				}
			} else if fastest < 0 || t < fastest {
				fastest, m.algo = t, a
			}
		}
		if fastest < 0 {
			return nil, failed
		}
		best, algos, took = append(best, m), append(algos, m.algo), fastest
	}
	if len(best) > 1 {
		if took, err = b.timeProducts(repeats, best); err != nil {
			return nil, err
		}
	}
	if limit-took < limit*gain/100 {
		return nil, nil
	}
	return algos, nil
}

// timeProducts is the time of products, each run once before.
func (b *blas) timeProducts(repeats int, list []matmul) (time.Duration, error) {
	if err := b.enqueue(list); err != nil {
		return 0, err
	}
	if err := b.drv.do(&b.sync); err != nil {
		return 0, err
	}
	child, err := b.capture(list)
	if err != nil {
		return 0, err
	}
	defer func() { _ = b.drv.freeGraph(child) }()
	return b.time(repeats, func(g uintptr, after []uintptr) (uintptr, error) { return b.drv.addChild(g, after, child) })
}

// What is timed is repeated until it takes about enoughTime, which events measure well; the median of some
// measurements counts.
const (
	enoughTime   = 200 * time.Microsecond
	mostRepeats  = 16
	measurements = 5
)

// time is that of what is added to a graph so many times, one behind the other: so it runs in a
// step as well.
func (b *blas) time(repeats int, add adder) (time.Duration, error) {
	drv, stream := b.drv, b.stream
	g, err := drv.newGraph()
	if err != nil {
		return 0, err
	}
	defer func() { _ = drv.freeGraph(g) }()
	var after []uintptr
	for range repeats {
		n, err := add(g, after)
		if err != nil {
			return 0, err
		}
		after = []uintptr{n}
	}
	x, err := drv.instantiate(g)
	if err != nil {
		return 0, err
	}
	defer func() { _ = drv.freeExec(x) }()
	if err := drv.launchGraph(x, stream); err != nil {
		return 0, err
	}
	times := make([]time.Duration, measurements)
	for i := range times {
		if times[i], err = b.measure(x); err != nil {
			return 0, err
		}
	}
	slices.Sort(times)
	return times[len(times)/2] / time.Duration(repeats), nil
}

// measure launches a graph between events, and waits.
func (b *blas) measure(exec uintptr) (time.Duration, error) {
	drv, stream := b.drv, b.stream
	if err := drv.record(b.events[0], stream); err != nil {
		return 0, err
	}
	if err := drv.launchGraph(exec, stream); err != nil {
		return 0, err
	}
	if err := drv.record(b.events[1], stream); err != nil {
		return 0, err
	}
	if err := drv.do(&b.sync); err != nil {
		return 0, err
	}
	return drv.elapsed(b.events[0], b.events[1])
}
