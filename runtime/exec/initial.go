package exec

import (
	"hash/fnv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"ptc/internal/dtype"
	"ptc/internal/philox"
	"ptc/internal/processors"
	"ptc/runtime/program"
)

// Initialize gives every tensor its initial value. Values are functions of
// (seed, path, e), e being the element's row-major position in the whole
// tensor, so that they are the same under every layout, on every machine and
// with any number of threads:
//
//	word  = e mod 4 of philox.Block
//	        counter (e/4 mod 2^32, e/4 div 2^32, hash mod 2^32, hash div 2^32)
//	        key     (seed mod 2^32, (seed div 2^32) xor 0x70746332)
//	hash  = FNV-1a, 64 bits, of the path
//	u     = (word + 1/2) 2^-32
//	uniform = low + (high - low) u
//	normal  = mean + std Φ^-1(u), see quantile
//
// for a copy of a parameter, of that parameter's path; computed in float64, then
// rounded to the tensor's dtype, as Convert does.
func (v *values) Initialize(seed uint64) error {
	if v.crew.closed {
		return errClosed
	}
	var jobs []initJob
	for _, d := range v.crew.devices {
		for i := range d.prog.Tensors {
			t := &d.prog.Tensors[i]
			init, err := t.Init.Values()
			if err != nil { // Validate has seen it
				return errorf(ReasonBug, err, "ptc cannot initialize the tensor %s", t.Path)
			}
			b := &d.prog.Buffers[t.Buffer]
			path := t.Path
			if t.Of != "" {
				path = t.Of
			}
			j := initJob{part: partOf(v.crew.plan, d, t.Buffer), dtype: b.DType, draw: newDraw(seed, path, init)}
			n := j.part.elems()
			for from := 0; from < n; from += initChunk {
				j.from, j.to = from, min(from+initChunk, n)
				jobs = append(jobs, j)
			}
		}
	}
	threads := min(v.crew.threads, processors.Count(), len(jobs))
	var next atomic.Int64
	var group errgroup.Group
	for range threads {
		group.Go(func() error {
			var mem []byte
			for {
				i := int(next.Add(1)) - 1
				if i >= len(jobs) {
					return nil
				}
				if err := jobs[i].run(&mem); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// initChunk is how many elements a thread initializes at a time.
const initChunk = 1 << 18

// initJob is a range of the elements of a device's part of a tensor.
type initJob struct {
	part     part
	dtype    string
	draw     draw
	from, to int
}

// run makes the values in the host's memory mem, which grows, and copies them to
// the device.
func (j *initJob) run(mem *[]byte) error {
	d, _ := dtype.Parse(j.dtype) // the plan was validated
	n := (j.to - j.from) * j.part.elem
	if len(*mem) < n {
		*mem = make([]byte, initChunk*j.part.elem)
	}
	var buf [512]float64
	j.part.runs(j.from, j.to, func(local, whole, n int) {
		for n > 0 {
			k := min(n, len(buf))
			j.draw.fill(buf[:k], uint64(whole))
			d.Encode((*mem)[(local-j.from)*j.part.elem:], buf[:k])
			local, whole, n = local+k, whole+k, n-k
		}
	})
	to := j.part.mem
	return j.part.d.copied(to.Memory.CopyIn(to.Offset+int64(j.from*j.part.elem), (*mem)[:n]))
}

// draw is the values of one tensor.
type draw struct {
	values program.Values
	hash   [2]uint32
	key    [2]uint32
}

// initKey keeps the draws of initialization apart from those of the random
// operations of a program, which have a constant of their own there.
const initKey = 0x70746332

func newDraw(seed uint64, path string, v program.Values) draw {
	h := fnv.New64a()
	h.Write([]byte(path)) // never fails
	sum := h.Sum64()
	return draw{
		values: v,
		hash:   [2]uint32{uint32(sum), uint32(sum >> 32)},
		key:    [2]uint32{uint32(seed), uint32(seed>>32) ^ initKey},
	}
}

// fill gives the elements from e on.
func (d *draw) fill(dst []float64, e uint64) {
	if d.values.Dist == program.Constant {
		for i := range dst {
			dst[i] = d.values.Value
		}
		return
	}
	var block [4]uint32
	for i := range dst {
		at := e + uint64(i)
		if i == 0 || at&3 == 0 {
			block = philox.Block([4]uint32{uint32(at >> 2), uint32(at >> 34), d.hash[0], d.hash[1]}, d.key)
		}
		u := (float64(block[at&3]) + 0.5) * (1.0 / (1 << 32)) // exact
		if d.values.Dist == program.Normal {
			dst[i] = d.values.Mean + float64(d.values.Std*quantile(u))
		} else {
			dst[i] = d.values.Low + float64((d.values.High-d.values.Low)*u)
		}
	}
}
