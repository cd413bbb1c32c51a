package program

import (
	"encoding/binary"
	"errors"
	"math/rand"
	"reflect"
	"testing"

	"ptc/internal/collective"
)

// numbers are the places of all integers and booleans of a plan.
func numbers(p *Plan) []reflect.Value {
	var out []reflect.Value
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		case reflect.Int, reflect.Int64, reflect.Bool:
			out = append(out, v)
		}
	}
	walk(reflect.ValueOf(p).Elem())
	return out
}

// edit changes numbers of a plan: each ten bytes say which, and to what.
func edit(p *Plan, edits []byte) {
	places := numbers(p)
	for ; len(edits) >= 10; edits = edits[10:] {
		v := places[int(binary.LittleEndian.Uint16(edits))%len(places)]
		n := int64(binary.LittleEndian.Uint64(edits[2:]))
		if v.Kind() == reflect.Bool {
			v.SetBool(n&1 == 1)
		} else {
			v.SetInt(n)
		}
	}
}

// checkTrust does with a valid plan what the runtime does without looking: it writes
// it out, if that is not too long, and what it has then is valid as well.
func checkTrust(t *testing.T, p *Plan) {
	t.Helper()
	q, err := p.Expanded()
	var limit *LimitError
	if err != nil && !errors.As(err, &limit) {
		t.Fatalf("valid, and not to be written out: %v", err)
	} else if err != nil {
		return
	}
	if err := q.Validate(); err != nil {
		t.Fatalf("valid, and written out it is not: %v", err)
	}
	p = q
	for i := range p.Devices {
		d := &p.Devices[i]
		p.CodeKind(d)
		inside := func(b int, n int64) {
			at := d.Buffers[b].Offset
			if at < 0 || at%Align != 0 || n < 0 || n > d.Buffers[b].Bytes || at+n < at || at+n > d.Arena {
				t.Fatalf("%d bytes of buffer %d at %d, in an arena of %d", n, b, at, d.Arena)
			}
		}
		for b := range d.Buffers {
			buf := &d.Buffers[b]
			inside(b, int64(Elems(buf.Axes)*DTypeSize(buf.DType)))
			for _, r := range p.RanksOf(d) {
				_, hi := p.Mesh.Box(r, buf.Axes)
				for k := range hi {
					if hi[k] > buf.Axes[k].Global {
						t.Fatalf("buffer %d ends at %d of %d", b, hi[k], buf.Axes[k].Global)
					}
				}
			}
		}
		for _, prog := range d.Progs {
			for _, in := range prog.Instrs {
				if in.Comm != nil {
					checkComm(t, p, d, &in, inside)
					continue
				}
				k := p.Kernels[in.Kernel]
				_ = p.Code[k.Code]
				for j, b := range in.Bufs {
					inside(b, k.Args[j].Bytes)
				}
			}
		}
		for _, x := range d.Ports {
			inside(x.Buffer, 0)
		}
		for _, x := range d.Tensors {
			inside(x.Buffer, 0)
		}
	}
}

// checkComm reads and writes what a transport does.
func checkComm(t *testing.T, p *Plan, d *Device, in *Instr, inside func(b int, n int64)) {
	t.Helper()
	c := in.Comm
	size, parts := int64(DTypeSize(c.DType)), int64(p.Mesh.Parts(c.Over))
	for i, b := range in.Bufs {
		n := c.Outer * c.Inner * size
		if c.Kind == collective.AllToAll || c.Kind == collective.AllGather && i == 1 || (c.Kind == collective.ReduceScatter || c.Kind == collective.ShardSlice) && i == 0 {
			n *= parts
		}
		inside(b, n)
	}
	if c.Kind == collective.AllToAll && c.DstOuter*c.DstInner != c.Outer*c.Inner {
		t.Fatalf("all_to_all %+v", c)
	}
	for _, r := range p.RanksOf(d) {
		if peer := p.Mesh.PeerOf(r, c); (c.Kind == collective.Send || c.Kind == collective.Recv) && (peer == r || peer < 0 || peer >= p.Mesh.Ranks()) {
			t.Fatalf("rank %d and its peer %d", r, peer)
		}
	}
}

// TestEdits changes a few numbers at random, near ones and wild ones: of the sample, and
// of a pipeline whose messages are received ahead.
func TestEdits(t *testing.T) {
	t.Run("sample", func(t *testing.T) { edits(t, sample, 20000) })
	t.Run("pipeline", func(t *testing.T) { edits(t, func() *Plan { return ahead(3, 4) }, 20000) })
}

func edits(t *testing.T, made func() *Plan, times int) {
	r := rand.New(rand.NewSource(1))
	valid := 0
	for range times {
		p := made()
		var edits []byte
		for range 1 + r.Intn(3) {
			n := [...]uint64{uint64(r.Intn(9)), uint64(64 * r.Intn(12)), -uint64(r.Intn(3)), 1 << r.Intn(64), r.Uint64()}[r.Intn(5)]
			edits = binary.LittleEndian.AppendUint16(edits, uint16(r.Uint32()))
			edits = binary.LittleEndian.AppendUint64(edits, n)
		}
		edit(p, edits)
		if p.Validate() == nil {
			valid++
			checkTrust(t, p)
		}
	}
	if valid < 1000 {
		t.Errorf("only %d edited plans are valid: the test checks little", valid)
	}
}

// FuzzValidate lets the fuzzer choose the edits.
func FuzzValidate(f *testing.F) {
	f.Add(make([]byte, 10))
	f.Add([]byte{40, 0, 64, 0, 0, 0, 0, 0, 0, 0, 41, 0, 255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, edits []byte) {
		p := sample()
		edit(p, edits)
		if p.Validate() == nil {
			checkTrust(t, p)
		}
	})
}
