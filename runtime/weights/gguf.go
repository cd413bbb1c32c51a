package weights

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/atomicfile"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/program"
)

// Numbers of the format, version 3, as the specification of GGUF in the documents of ggml
// has them.
const (
	ggufMagic   = "GGUF"
	ggufVersion = 3
	ggufAlign   = 32

	ggufUint32  = 4
	ggufFloat32 = 6
	ggufBool    = 7
	ggufString  = 8
	ggufArray   = 9
	ggufInt32   = 5
)

// ggmlType is what ggml calls an element type, and what llama.cpp calls a file of it.
var ggmlType = map[dtype.DType]struct{ tensor, file uint32 }{
	dtype.F32: {0, 0}, dtype.F16: {1, 1}, dtype.BF16: {30, 32},
}

// ExportGGUF writes a file as llama.cpp reads it, with the tokenizer of the folder Options.Origin, if
// there is one. HF are the names for transformers, which say how rope is stretched; they may be nil.
// Tensors of one dimension, of routers and of positions are of f32, as llama.cpp wants them.
func ExportGGUF(src Source, n, hf *program.Names, path string, o Options) (withTokens bool, err error) {
	out, err := plan(src, n, o.DType)
	if err != nil {
		return false, err
	}
	v, err := vocabOf(n, o.Origin)
	if err != nil {
		return false, err
	}
	return v != nil, writeGGUF(src, n, path, out, v, stretch(hf))
}

// vocabOf is the tokenizer of a folder, for as many tokens as the model has.
func vocabOf(n *program.Names, dir string) (*vocab, error) {
	size := 0
	for _, k := range n.Keys {
		if strings.HasSuffix(k.Names[0], ".vocab_size") {
			size, _ = strconv.Atoi(k.Value) // else 0
		}
	}
	if dir == "" || size == 0 {
		return nil, nil
	}
	config, err := ReadConfig(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return readVocab(dir, config, size)
}

// floats are the ends of names of tensors that are of f32 whatever their dimensions.
var floats = []string{".ffn_gate_inp.weight", "position_embd.weight"}

func writeGGUF(src Source, n *program.Names, path string, out []safetensors.Tensor, v *vocab, rope []float64) error {
	kind := dtype.F32
	for i := range out {
		if len(out[i].Shape) < 2 || slices.ContainsFunc(floats, func(end string) bool { return strings.HasSuffix(out[i].Name, end) }) {
			out[i].DType = dtype.F32
		} else {
			kind = out[i].DType
		}
		if _, ok := ggmlType[out[i].DType]; !ok {
			return fmt.Errorf("%s cannot be written to GGUF; choose another type with --dtype", out[i].DType)
		}
	}
	all := out
	if rope != nil {
		all = append(slices.Clone(out), safetensors.Tensor{Name: "rope_freqs.weight", DType: dtype.F32, Shape: []int64{int64(len(rope))}})
	}
	head, err := ggufHead(n, all, kind, v)
	if err != nil {
		return err
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(head); err != nil {
		return err
	}
	for i := range out {
		if err := ggufTensor(f, src, n, &n.Tensors[i], &out[i]); err != nil {
			return err
		}
	}
	if rope != nil {
		data := make([]byte, 4*len(rope))
		dtype.F32.Encode(data, rope)
		if _, err := f.Write(append(data, make([]byte, padding(int64(len(data))))...)); err != nil {
			return err
		}
	}
	return f.Commit()
}

// ggufTensor writes the elements of a tensor and the zeros behind them. Its pieces are
// put together in memory, unless there is one.
func ggufTensor(w io.Writer, src Source, n *program.Names, t *program.Named, as *safetensors.Tensor) error {
	data := make([]byte, as.Bytes())
	err := pieces(src, t, as.DType, func(at safetensors.Slice, part []byte) error {
		size := int64(as.DType.Size())
		outer, inner := int64(1), size
		for i, s := range at.Extent {
			if i < t.Over {
				outer *= s
			} else if i > t.Over {
				inner *= s
			}
		}
		if len(at.Extent) == 0 {
			copy(data, part)
			return nil
		}
		whole, own := as.Shape[t.Over]*inner, at.Extent[t.Over]*inner
		for k := range outer {
			copy(data[k*whole+at.Offset[t.Over]*inner:], part[k*own:(k+1)*own])
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n.PlusOne != "" && strings.HasSuffix(t.Name, n.PlusOne) {
		x := make([]float64, dtype.Elems(as.DType, len(data)))
		as.DType.Decode(x, data)
		for i := range x {
			x[i]++
		}
		as.DType.Encode(data, x)
	}
	_, err = w.Write(append(data, make([]byte, padding(int64(len(data))))...))
	return err
}

func padding(n int64) int64 { return (ggufAlign - n%ggufAlign) % ggufAlign }

// ggufHead is what stands before the elements.
func ggufHead(n *program.Names, out []safetensors.Tensor, kind dtype.DType, v *vocab) ([]byte, error) {
	var meta []byte
	count := uint64(0)
	add := func(key string, kind uint32, v []byte) {
		meta = append(binary.LittleEndian.AppendUint32(append(meta, ggufText(key)...), kind), v...)
		count++
	}
	le := binary.LittleEndian
	add("general.architecture", ggufString, ggufText(n.Architecture))
	add("general.alignment", ggufUint32, le.AppendUint32(nil, ggufAlign))
	add("general.file_type", ggufUint32, le.AppendUint32(nil, ggmlType[kind].file))
	for _, k := range n.Keys {
		if k.Default {
			continue
		}
		t, v, err := ggufValue(k.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.Names[0], err)
		}
		for _, name := range k.Names {
			add(name, t, v)
		}
	}
	if v != nil {
		ggufVocab(v, add)
	}
	b := le.AppendUint32([]byte(ggufMagic), ggufVersion)
	b = le.AppendUint64(le.AppendUint64(b, uint64(len(out))), count)
	b = append(b, meta...)
	at := int64(0)
	for _, t := range out {
		b = le.AppendUint32(append(b, ggufText(t.Name)...), uint32(len(t.Shape)))
		for i := len(t.Shape) - 1; i >= 0; i-- { // the contiguous one first
			b = le.AppendUint64(b, uint64(t.Shape[i]))
		}
		b = le.AppendUint64(le.AppendUint32(b, ggmlType[t.DType].tensor), uint64(at))
		at += t.Bytes() + padding(t.Bytes())
	}
	return append(b, make([]byte, padding(int64(len(b))))...), nil
}

func ggufText(s string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(s))), s...)
}

// ggufValue is a JSON value: whole numbers are u32, others f32.
func ggufValue(text string) (kind uint32, v []byte, err error) {
	var x any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&x); err != nil {
		return 0, nil, err
	}
	switch x := x.(type) {
	case string:
		return ggufString, ggufText(x), nil
	case bool:
		b := byte(0)
		if x {
			b = 1
		}
		return ggufBool, []byte{b}, nil
	case json.Number:
		if n, err := x.Int64(); err == nil && n >= 0 && n <= math.MaxUint32 {
			return ggufUint32, binary.LittleEndian.AppendUint32(nil, uint32(n)), nil
		}
		f, err := x.Float64()
		return ggufFloat32, binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(f))), err
	}
	return 0, nil, fmt.Errorf("%s is no value of GGUF", text)
}
