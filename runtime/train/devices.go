package train

import (
	"math"
	"runtime/debug"
	"slices"
	"strings"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/data"
	"ptc/runtime/exec"
	"ptc/runtime/program"
)

// devices are those of the plan, seen as one: whole tensors and whole batches.
type devices struct {
	m        *exec.Machine
	rank     int // of the device of this process, where it has one
	seed     uint64
	training *exec.Program
	testing  *exec.Program // nil: the plan does not validate
	reads    [2][]reading  // of either
	buf, raw []byte        // of load and read
}

// reading is a field of a batch that a program is fed.
type reading struct {
	name  string
	index int // in the batch
}

// openDevices captures the plan. Its tensors have no values yet.
func openDevices(plan *program.Plan, fields []data.Field, o *Options, seed uint64, warn func(string)) (*devices, error) {
	m, err := exec.Open(plan, exec.Options{Threads: o.Threads, Comm: o.Comm, Timeout: o.CommTimeout, OffloadDir: o.OffloadDir, Cache: o.Cache, Blas: o.Blas, Warn: warn, OnFault: o.OnFault})
	if err != nil {
		return nil, err
	}
	rank := 0
	if len(o.Comm) > 0 {
		rank = o.Comm[0].Rank()
	}
	d := &devices{m: m, rank: rank, seed: seed, training: m.Program("step"), testing: m.Program("eval")}
	if d.training == nil {
		m.Close()
		return nil, errNoStep
	}
	for i, p := range []*exec.Program{d.training, d.testing} {
		if p == nil {
			continue
		}
		for _, f := range p.Fields() {
			n := slices.IndexFunc(fields, func(g data.Field) bool { return g.Name == f.Name })
			if n < 0 || !slices.Equal(fields[n].Shape, f.Shape) {
				m.Close()
				return nil, errorf(ExitFile, "the plan is not valid: program %s reads the field %s in another shape than the other programs do", p.Name(), f.Name)
			}
			d.reads[i] = append(d.reads[i], reading{f.Name, n})
		}
	}
	return d, nil
}

func (d *devices) close() { d.m.Close() }

// onText says what devices run on: each thing once, with the code that runs there.
func onText(on []exec.On) string {
	var out []string
	for _, x := range on {
		text := x.Name
		if x.Code != "" {
			text += ", code for " + x.Code
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, "; ")
}

// shed gives the system back the memory that tensors passed through, as large as the
// largest of them, before the first step takes that of activations: at no time is there both.
func (d *devices) shed() {
	d.buf, d.raw = nil, nil
	debug.FreeOSMemory()
}

// feed gives the step its batch and its numbers.
func (d *devices) feed(b *batch, step int64) error {
	// The seed too, for a buffer may be used again once it has been read.
	d.m.SetStep(step)
	d.m.SetSeed(d.seed)
	return d.fill(d.training, d.reads[0], b)
}

func (d *devices) fill(p *exec.Program, reads []reading, b *batch) error {
	for i := range reads {
		feed := p.Feed
		if b.part {
			feed = p.FeedPart
		}
		if err := feed(reads[i].name, b.bytes[reads[i].index]); err != nil {
			return err
		}
	}
	return nil
}

// step runs the step that was fed.
func (d *devices) step() error { return d.training.Run() }

func (d *devices) loss() float64     { return d.training.Loss() }
func (d *devices) gradNorm() float64 { return d.stat("grad_norm") }
func (d *devices) lr() float64       { return d.stat("lr") }

// lossScale is what the next step's loss is multiplied by, 0 where it is not, or was not
// computed.
func (d *devices) lossScale() float64 {
	v, _ := d.training.Stat("loss_scale")
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// adaptsScale says whether steps with gradients that are not finite are skipped
// and lower the scale.
func (d *devices) adaptsScale() bool {
	_, ok := d.m.Tensor("loss_scale/scale")
	return ok
}

// stat is NaN if the plan does not report it.
func (d *devices) stat(name string) float64 {
	if v, ok := d.training.Stat(name); ok {
		return v
	}
	return math.NaN()
}

func (d *devices) hasGradNorm() bool { return slices.Contains(d.training.Stats(), "grad_norm") }
func (d *devices) hasEval() bool     { return d.testing != nil }

// watchNumbers lets a step that is not finite end before it changes anything,
// where the plan allows that: so the step can be run again to see where it
// begins. Adaptive loss scaling has to see gradients that overflow.
func (d *devices) watchNumbers() error {
	var stats []string
	if d.hasGradNorm() && !d.adaptsScale() {
		stats = []string{"grad_norm"}
	}
	_, err := d.training.StopBeforeUpdate(stats...)
	return err
}

// eval is the loss of a batch that is not trained on.
func (d *devices) eval(b *batch) (float64, error) {
	if err := d.fill(d.testing, d.reads[1], b); err != nil {
		return 0, err
	}
	if err := d.testing.Run(); err != nil {
		return 0, err
	}
	return d.testing.Loss(), nil
}

// gradients lists the gradients of a step as stepWithGradients gives them, in
// order of path.
func (d *devices) gradients() ([]checkpoint.Tensor, error) {
	var out []checkpoint.Tensor
	for _, g := range d.training.Gradients() {
		t := checkpoint.Tensor{Tensor: safetensors.Tensor{Name: g.Path, DType: g.DType}}
		if !t.DType.IsFloat() {
			return nil, errorf(ExitFile, "the plan has a gradient of %s of type %s, but gradients must be floats", g.Path, g.DType)
		}
		for _, n := range g.Shape {
			t.Shape = append(t.Shape, int64(n))
		}
		out = append(out, t)
	}
	for i := range out {
		out[i].DType = out[i].DType.Acc() // as in files for others
	}
	return out, nil
}

// stepWithGradients runs the step that was fed, and gives the gradients' boxes
// as they are computed, in the types that gradients has. The bytes are valid
// until write returns.
func (d *devices) stepWithGradients(write func(path string, box safetensors.Slice, data []byte) error) error {
	return d.training.RunWithGradients(func(g exec.Tensor, s exec.Slice) error {
		box := boxOf(s.Lo, s.Hi)
		to := g.DType.Acc()
		if to == g.DType {
			return write(g.Path, box, s.Bytes)
		}
		dst := grow(&d.buf, int64(dtype.Bytes(to, dtype.Elems(g.DType, len(s.Bytes)))))
		if err := exec.Convert(dst, to, s.Bytes, g.DType); err != nil {
			return err
		}
		return write(g.Path, box, dst)
	})
}

// copies are the states that hold the parameter t in more bits.
func (d *devices) copies(t checkpoint.Tensor) (out []checkpoint.Tensor) {
	for _, x := range d.m.Tensors() {
		if x.Of == t.Name {
			c := t
			c.Name, c.DType = x.Path, x.DType
			out = append(out, c)
		}
	}
	return out
}

func boxOf(lo, hi []int) safetensors.Slice {
	s := safetensors.Slice{Offset: make([]int64, len(lo)), Extent: make([]int64, len(lo))}
	for i := range lo {
		s.Offset[i], s.Extent[i] = int64(lo[i]), int64(hi[i]-lo[i])
	}
	return s
}

// read gives a whole tensor, as the type that t has. Every process reads the
// same ones in the same order, and the root gets them.
func (d *devices) read(t checkpoint.Tensor, dst []byte) error {
	have, ok := d.m.Tensor(t.Name)
	switch {
	case !ok:
		return errorf(ExitBug, "the devices have no tensor %s", t.Name)
	case !d.m.Root():
		return d.m.ReadBytes(t.Name, nil)
	case have.DType == t.DType:
		return d.m.ReadBytes(t.Name, dst)
	}
	raw := grow(&d.raw, int64(have.Bytes()))
	if err := d.m.ReadBytes(t.Name, raw); err != nil {
		return err
	}
	return exec.Convert(dst, t.DType, raw, have.DType)
}

// readPiece gives a piece of a tensor that the device of this process has.
func (d *devices) readPiece(t checkpoint.Tensor, p checkpoint.Piece, dst []byte) error {
	if len(dst) == 0 {
		return nil
	}
	return d.m.ReadBox(t.Name, d.rank, p.Offset, dst)
}

// readAll takes part in what the root reads and writes.
func (d *devices) readAll(tensors []checkpoint.Tensor) error {
	for _, t := range tensors {
		if err := d.read(t, nil); err != nil {
			return err
		}
	}
	return nil
}

// load sets a tensor to what read gives, which is of type from: whole, or, where
// other processes have devices too, only this one's boxes of it.
func (d *devices) load(t checkpoint.Tensor, from dtype.DType, read func(box safetensors.Slice, dst []byte) error) error {
	if d.m.Shared() {
		for _, b := range d.m.Boxes(t.Name) {
			box := boxOf(b.Lo, b.Hi)
			dst := grow(&d.buf, dtype.Bytes(t.DType, box.Elems()))
			if err := d.loadBox(box, dst, t.DType, from, read); err != nil {
				return err
			}
			if err := d.m.WriteBox(t.Name, b.Rank, dst); err != nil {
				return err
			}
		}
		return nil
	}
	dst := grow(&d.buf, t.Bytes())
	if err := d.loadBox(safetensors.Slice{}, dst, t.DType, from, read); err != nil {
		return err
	}
	return d.m.WriteBytes(t.Name, dst)
}

func (d *devices) loadBox(box safetensors.Slice, dst []byte, to, from dtype.DType, read func(safetensors.Slice, []byte) error) error {
	if from == to {
		return read(box, dst)
	}
	raw := grow(&d.raw, int64(dtype.Bytes(from, dtype.Elems(to, len(dst)))))
	if err := read(box, raw); err != nil {
		return err
	}
	return exec.Convert(dst, to, raw, from)
}

// grow gives n bytes of a buffer that is kept.
func grow(buf *[]byte, n int64) []byte {
	if int64(cap(*buf)) < n {
		*buf = make([]byte, n)
	}
	return (*buf)[:n]
}
