package cost

import (
	"ptc/backend/gpu/target"
	"ptc/foresight/machine"
	"ptc/internal/wide"
	"ptc/ir/fusion"
)

// Software is what the software that runs a plan adds to the machine.
type Software struct {
	Products float64 // the speed of its matrix products, as a share of the best; 0 is 1
	Sweeps   float64 // and of its other kernels; 0 is 1
	// Unaligned is the speed of products with rows that do not begin at multiples of 4 bytes, as a share of others; 0 is 1.
	Unaligned float64
	// Library says that matrix products are those of a library, which has kernels of several tiles and takes the quickest.
	Library      bool
	ProductStart float64 // seconds by which such a product takes longer than its waves of tiles
	HostLaunch   bool    // the host launches each kernel
	HostKernel   float64 // seconds of the host for each kernel, where it launches them; 0: those of a launch
	// HostBackward is HostKernel in backward passes; 0: the same.
	HostBackward float64
}

// Model prices work on one cluster.
type Model struct {
	*machine.Cluster
	Software
	Sharing
	gpu *target.Target // that kernels are generated for; nil where the machine is none

	memory, sweep, cache, vector, hostLink, disk rate
	launch, host, hostBackward, productStart     machine.PS
	protocols                                    []protocol
}

// New is the model of a cluster and of the software on it.
func New(c *machine.Cluster, w Software) *Model {
	if w.Products == 0 {
		w.Products = 1
	}
	if w.Sweeps == 0 {
		w.Sweeps = 1
	}
	d, h := &c.Device, &c.Host
	m := &Model{
		Cluster: c, Software: w, gpu: gpuOf(d.Target),
		memory: rateOf(d.Bandwidth, d.MemoryShare.Value), sweep: rateOf(d.Bandwidth, d.MemoryShare.Value, w.Sweeps),
		cache: rateOf(d.CacheRate), vector: rateOf(d.Vector["f32"]),
		hostLink: rateOf(h.Link, h.LinkShare.Value), disk: rateOf(h.Disk, 1/float64(max(h.Devices, 1))),
		launch: machine.Picoseconds(d.Launch.Value), productStart: machine.Picoseconds(w.ProductStart),
	}
	if w.HostLaunch {
		m.host = machine.Picoseconds(h.Launch.Value)
		if w.HostKernel > 0 {
			m.host = machine.Picoseconds(w.HostKernel)
		}
		m.hostBackward = m.host
		if w.HostBackward > 0 {
			m.hostBackward = machine.Picoseconds(w.HostBackward)
		}
	}
	for _, name := range c.Protocols() {
		m.protocols = append(m.protocols, protocolOf(c.Machine, name))
	}
	return m
}

// Bound is what limits a kernel.
type Bound string

// The bounds of kernels.
const (
	Compute Bound = "compute"
	Memory  Bound = "memory"
	Launch  Bound = "launch"
)

// Launch is the time between the starts of two kernels that do nothing.
func (m *Model) Launch() machine.PS { return m.launch }

// Host is the time that the host takes for a launch, where it launches each kernel; else 0.
func (m *Model) Host(backward bool) machine.PS {
	if backward {
		return m.hostBackward
	}
	return m.host
}

// AtOnce is the time of a sweep over many tensors by one kernel, which reaches the best rate, where t is that of a sweep by the
// software's other kernels.
func (m *Model) AtOnce(t machine.PS) machine.PS {
	return machine.PS(ceilDiv(int64(t), int64(m.sweep), max(int64(m.memory), 1)))
}

// Kernel is the time of one launch of all parts, without the launch itself, and what bounds most of it. A
// measured time of the machine's table takes precedence.
func (m *Model) Kernel(parts []Part) (t machine.PS, bound Bound) {
	var compute, memory machine.PS
	for i := range parts {
		p := &parts[i]
		if measured, ok := m.Kernels[p.Key]; ok {
			t += measured
			continue
		}
		c, b := m.compute(p, len(parts) == 1), m.moves(p)
		compute, memory = compute+c, memory+b
		if m.Device.Serial {
			t += c + b
		} else {
			t += max(c, b)
		}
	}
	switch {
	case t < m.launch:
		return t, Launch
	case compute > memory:
		return t, Compute
	}
	return t, Memory
}

// moves is how long the bytes of a part take. Where a kernel's work follows one another, what the last cache has room for comes
// from there: other kernels have just written it.
func (m *Model) moves(p *Part) machine.PS {
	rate, near := m.sweep, int64(0)
	if p.Product != nil {
		rate = m.memory
	}
	if m.Device.Serial && m.cache > 0 {
		near = min(p.Bytes, int64(m.Device.Cache.Value))
	}
	return m.cache.time(near) + rate.time(p.Bytes-near)
}

// compute is how long the arithmetic of a part takes. Alone in its launch, a product takes whole waves of tiles.
func (m *Model) compute(p *Part, alone bool) machine.PS {
	switch {
	case p.Product != nil && p.Tile != nil:
		return m.tiled(p, alone)
	case m.Device.Serial && p.Product != nil:
		return m.products(p.DType, 1).time(p.Multiplies) + m.vector.time(p.Flops-p.Multiplies)
	case p.Product != nil:
		return m.products(p.DType, 1).time(p.Flops)
	case p.Class == fusion.Attend:
		return m.products(p.DType, m.attention(p.DType)).time(p.Flops)
	}
	return m.vector.time(p.Flops)
}

// attentionShare is how fast attention multiplies, of the rate of the best product: its softmax runs on the same
// processors. FlashAttention-2 (Dao, 2023, section 4.1) reaches up to 73% of an A100's peak forward and 63% backward, where
// the best products reach some 85%; the backward pass does most of the work.
const attentionShare = 0.75

// AtBest is the time of so many FLOPs of matrix products of dtypes, all at the rate of the fastest of them: no less time.
func (m *Model) AtBest(dtypes []string, flops int64) machine.PS {
	best := rate(0)
	for _, d := range dtypes {
		best = max(best, m.products(d, 1))
	}
	if best == 0 {
		return 0
	}
	return machine.PS(wide.MulDiv(flops, second, int64(best)))
}

// attention is the part of the rate of the best product that attention reaches.
func (m *Model) attention(dtype string) float64 {
	if s, ok := m.Device.Attention[dtype]; ok {
		return s.Value
	}
	return attentionShare
}

// products is the rate of matrix products of a dtype, all processors together. A dtype without a rate of its own is
// computed in the next wider one that has.
func (m *Model) products(dtype string, share float64) rate {
	d := &m.Device
	for _, name := range append([]string{dtype}, wider[dtype]...) {
		if p, ok := d.Peak[name]; ok {
			return rateOf(p, d.Share[name].Value, m.Products, share)
		}
	}
	return rateOf(d.Vector["f32"], share)
}

// wider are the dtypes whose instructions can multiply the factors of another dtype exactly.
var wider = map[string][]string{
	"f8e4m3": {"f8", "f16", "bf16"}, "f8e5m2": {"f8", "f16", "bf16"}, "f8": {"f16", "bf16"}, "f16": {"bf16"}, "bf16": {"f16"},
}

// libraryTiles are the tiles of a library's kernels: those that the names of cuBLAS's kernels of 16 bits have
// (ampere_fp16_s16816gemm_fp16_256x128 …), and sums that 2 to 8 processors share, which its names call splitK. Smaller tiles
// would be quicker for some shapes; NVIDIA's figure (TestLibrary) shows that cuBLAS of 2020 did not take them.
var libraryTiles = func() (out []Tile) {
	for _, t := range [][2]int64{{256, 128}, {128, 256}, {128, 128}} {
		for _, split := range []int64{1, 2, 4, 8} {
			out = append(out, Tile{t[0], t[1], split})
		}
	}
	return out
}()

// tiled is the time of a product by tiles. A processor computes one tile at a time, and tiles run in waves, one tile on each
// processor, so that the last wave takes as long as a full one. A tile takes as long as its multiply-adds, or as its operands
// take from the last cache, and then stores its part of the result.
func (m *Model) tiled(p *Part, alone bool) machine.PS {
	if !m.Library {
		return m.byTile(p, p.Tile, alone)
	}
	best := Longest
	for i := range libraryTiles {
		best = min(best, m.byTile(p, &libraryTiles[i], alone))
	}
	return best + m.productStart
}

// byTile is the time of a product by tiles of one kind.
func (m *Model) byTile(p *Part, s *Tile, alone bool) machine.PS {
	x, n := p.Product, int64(m.Device.Processors)
	tasks := x.Batch * blocks(x.M, s.M) * blocks(x.N, s.N) * s.Split
	k, size := blocks(x.K, s.Split), sizeOf(p.DType)
	multiply := m.products(p.DType, m.alignment(x, size)).time(2 * s.M * s.N * k * n)
	load := m.cache.time((s.M + s.N) * k * size * n)
	store := m.memory.time(s.M * s.N * size * n)
	tile := max(multiply, load) + store
	sums := m.memory.time(2 * sumBytes * x.Batch * x.M * x.N * s.Split * one(s.Split > 1)) // of parts, written and read
	if alone {
		return tile*machine.PS(blocks(tasks, n)) + sums
	}
	return machine.PS(ceilDiv(int64(tile), tasks, n)) + sums
}

// sumBytes are the bytes of a sum that several processors share.
const sumBytes = 4

// copyBytes is the least that one thread copies to shared memory asynchronously (PTX ISA 8.5, cp.async: 4, 8 or 16 bytes).
const copyBytes = 4

// alignment is the speed of a product for how its operands lie in memory: rows that do not begin at multiples of copyBytes cannot be
// copied to shared memory asynchronously, but go through registers.
func (m *Model) alignment(x *Product, size int64) float64 {
	if m.Unaligned > 0 && (x.M*size%copyBytes != 0 || x.N*size%copyBytes != 0 || x.K*size%copyBytes != 0) {
		return m.Unaligned
	}
	return 1
}

// Sweep is how long a copy within the device's memory takes, of so many bytes read and written.
func (m *Model) Sweep(bytes int64) machine.PS { return m.sweep.time(bytes) }

// Copy is how long a copy between the device and its host's memory takes, or the host's disk, which its devices share.
func (m *Model) Copy(bytes int64, disk bool) machine.PS {
	if disk {
		return max(m.hostLink.time(bytes), m.disk.time(bytes))
	}
	return m.hostLink.time(bytes)
}
