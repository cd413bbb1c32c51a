package train

import (
	"fmt"
	"io"

	"ptc/runtime/checkpoint/atomicfile"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/data"
)

// dumpGrads runs the step that was fed and writes its gradients as they are
// computed, as f32, or as f64 if the plan computes in that. Memory is that of the largest shard of one.
func dumpGrads(j *job, dev *devices, step int64) error {
	path, file := j.o.DumpGrads, rootFile{processes: j.procs}
	if !j.procs.root() {
		return file.written(dev.stepWithGradients(nil))
	}
	grads, err := dev.gradients()
	if err != nil {
		return err
	}
	if len(grads) == 0 {
		return errorf(ExitFile, "the plan computes no gradients that ptc could write to %s", path)
	}
	var list []safetensors.Tensor
	for _, g := range grads {
		list = append(list, g.Tensor)
	}
	about := map[string]string{"producer": "ptc", "step": fmt.Sprint(step)}
	err = safetensors.WriteFile(path, list, about, func(w *safetensors.Writer) error {
		err := dev.stepWithGradients(w.WriteSlice)
		file.gathered()
		return err
	})
	if err != nil {
		err = fileError(err, "ptc cannot write the gradients to %s", path)
	}
	return file.written(err)
}

// batchDump collects what every step is fed. The format wants the list of all
// tensors first, and a run may end early, so the batches go to a spool beside
// the file as they come, and are copied behind their header at the end: memory
// is that of one batch, and disk twice that of all. The format's limit of 100 MB
// for the header allows several hundred thousand steps.
type batchDump struct {
	path   string
	spool  *atomicfile.File // never committed
	fields []data.Field
	steps  []int64
	size   int // bytes of a batch
}

func createBatchDump(path string, fields []data.Field) (*batchDump, error) {
	if err := probe(path); err != nil {
		return nil, err
	}
	f, err := atomicfile.Create(path + ".spool")
	if err != nil {
		return nil, fileError(err, "ptc cannot write %s", path)
	}
	return &batchDump{path: path, spool: f, fields: fields}, nil
}

func (d *batchDump) add(step int64, b *batch) error {
	n := 0
	for i := range d.fields {
		m, err := d.spool.Write(b.bytes[i])
		if err != nil {
			return fileError(err, "ptc cannot write the batches to %s", d.path)
		}
		n += m
	}
	d.size = n
	d.steps = append(d.steps, step)
	return nil
}

// finish puts the file in its place.
func (d *batchDump) finish() error {
	var list []safetensors.Tensor
	for _, step := range d.steps {
		for _, f := range d.fields {
			t := safetensors.Tensor{Name: fmt.Sprintf("step.%d.%s", step, f.Name), DType: f.DType}
			for _, n := range f.Shape {
				t.Shape = append(t.Shape, int64(n))
			}
			list = append(list, t)
		}
	}
	about := map[string]string{"producer": "ptc"}
	err := safetensors.WriteFile(d.path, list, about, func(w *safetensors.Writer) error {
		buf := make([]byte, d.size)
		spool := io.NewSectionReader(d.spool, 0, int64(d.size)*int64(len(d.steps)))
		for _, t := range list { // in the order of the spool
			part := buf[:t.Bytes()]
			if _, err := io.ReadFull(spool, part); err != nil {
				return err
			}
			if err := w.WriteSlice(t.Name, safetensors.Slice{}, part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fileError(err, "ptc cannot write the batches to %s", d.path)
	}
	return nil
}

// close removes the spool.
func (d *batchDump) close() { d.spool.Abort() }
