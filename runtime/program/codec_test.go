package program

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/internal/collective"
)

func encode(t testing.TB, p *Plan) []byte {
	t.Helper()
	b, err := Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	for name, p := range map[string]*Plan{
		"sample": sample(),
		"empty":  {Devices: []Device{{}}},
	} {
		b := encode(t, p)
		q, err := Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff(p, q); d != "" {
			t.Errorf("%s: decoded differs (-want +got):\n%s", name, d)
		}
		if !bytes.Equal(encode(t, q), b) {
			t.Errorf("%s: encoded again, the bytes differ", name)
		}
	}
}

// TestSampleIsFull notices a field that the round trip does not cover.
func TestSampleIsFull(t *testing.T) {
	seen := map[string]bool{} // Type.Field → some value is not zero
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			walk(v.Elem())
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				key := v.Type().Name() + "." + v.Type().Field(i).Name
				seen[key] = seen[key] || !v.Field(i).IsZero() || v.Type().Field(i).Name == "_"
				walk(v.Field(i))
			}
		}
	}
	p := sample()
	p.Kernels[1].Code = 1
	p.Devices[0].Progs[0].Instrs[0].Comm = &Comm{Kind: collective.Send, Peer: 1, Tag: 1, Each: 1} // it takes two programs to send
	walk(reflect.ValueOf(p))
	for key, full := range seen {
		if !full {
			t.Errorf("%s is zero wherever the sample has it", key)
		}
	}
}

// TestTags checks that every field has a number of its own, and that the numbers
// leave no gap that someone filled with another meaning before.
func TestTags(t *testing.T) {
	for _, v := range []any{Plan{}, Source{}, KV{}, MeshAxis{}, Code{}, Kernel{}, Arg{}, Product{}, Matrices{}, Buffer{}, Axis{}, Instr{}, Comm{}, View{},
		Program{}, Task{}, First{}, Run{}, Stack{}, Tensor{}, Init{}, Port{}, Device{}, Data{}, Average{}, AverageTerm{}, Stop{}, Remark{}, Stats{}, Roof{}, Rate{}, Variant{}, Adapter{}, Setting{}, Guard{}} {
		typ := reflect.TypeOf(v)
		used := map[string]bool{}
		for i := range typ.NumField() {
			tag := typ.Field(i).Tag.Get("cbor")
			key, options, _ := strings.Cut(tag, ",")
			if options != "keyasint,omitempty" || used[key] {
				t.Errorf("%s.%s has the tag %q", typ.Name(), typ.Field(i).Name, tag)
			}
			used[key] = true
		}
	}
}

func TestEmptyIsNil(t *testing.T) {
	p, q := sample(), sample()
	p.Devices[0].Progs[1].Instrs, q.Devices[0].Progs[1].Instrs = nil, []Instr{}
	p.Devices[0].Buffers[4].Axes, q.Devices[0].Buffers[4].Axes = nil, []Axis{}
	if !bytes.Equal(encode(t, p), encode(t, q)) {
		t.Error("nil and empty slices give different bytes")
	}
}

func TestBadBytes(t *testing.T) {
	good := encode(t, sample())
	edit := func(f func(b []byte) []byte) []byte { return f(bytes.Clone(good)) }
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"empty":         {nil, ErrNotPlan},
		"text":          {[]byte("# README\n\nhello\n"), ErrNotPlan},
		"short text":    {[]byte("pt?"), ErrNotPlan},
		"half magic":    {good[:5], ErrTruncated},
		"half header":   {good[:30], ErrTruncated},
		"header only":   {good[:headerSize], ErrTruncated},
		"one byte less": {good[:len(good)-1], ErrTruncated},
		"one more":      {append(bytes.Clone(good), 0), ErrDamaged},
		"long length": {edit(func(b []byte) []byte {
			binary.LittleEndian.PutUint64(b[12:], 1<<60)
			return b
		}), ErrDamaged},
	} {
		if _, err := Decode(c.file); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestOtherVersions: who has a plan of another version is told what to do.
func TestOtherVersions(t *testing.T) {
	good := encode(t, sample())
	for format, want := range map[byte]string{2: "compile its source again, or take the ptc that made it", 99: "take a later ptc"} {
		other := bytes.Clone(good)
		other[8] = format
		_, err := Decode(other)
		var v *VersionError
		if !errors.As(err, &v) || v.Format != uint32(format) || !strings.Contains(err.Error(), want) {
			t.Errorf("format %d: %v", format, err)
		}
	}
	added, err := encMode.Marshal(map[int]any{3: "9.9.9\x1b[2J", 63: 1})
	if err != nil {
		t.Fatal(err)
	}
	var v *VersionError
	if _, err := Decode(seal(added)); !errors.As(err, &v) || !strings.Contains(err.Error(), `ptc "9.9.9\x1b[2J" made it`) {
		t.Errorf("an entry of a later version: %v", err)
	}
}

// TestFlippedBits: no bit can flip unnoticed.
func TestFlippedBits(t *testing.T) {
	good := encode(t, sample())
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if _, err := Decode(bad); err == nil {
			t.Fatalf("bit %d of byte %d flipped, and the plan is decoded", i%8, i)
		}
	}
}

// TestBadBodies are sealed, and yet no plan.
func TestBadBodies(t *testing.T) {
	for name, body := range map[string][]byte{
		"nothing":       {},
		"not a map":     {0x01},
		"unknown key":   {0xa1, 0x18, 0x63, 0x01},          // {99: 1}
		"repeated key":  {0xa2, 0x01, 0x60, 0x01, 0x60},    // {1: "", 1: ""}
		"wrong type":    {0xa1, 0x01, 0x01},                // {1: 1}
		"endless":       {0xbf, 0x01, 0x60, 0xff},          // indefinite length
		"huge array":    {0xa1, 0x0c, 0x9a, 255, 255, 255}, // cut off
		"bytes follow":  {0xa0, 0x00},
		"tag":           {0xa1, 0x01, 0xc0, 0x60},
		"bad UTF-8":     {0xa1, 0x01, 0x61, 0xff},
		"no device":     {0xa0},
		"null":          {0xf6},
		"negative size": {0xa1, 0x0d, 0xa1, 0x03, 0x20}, // Data.Steps = -1
	} {
		var want *InvalidError
		if _, err := Decode(seal(body)); !errors.As(err, &want) {
			t.Errorf("%s: %v, want an InvalidError", name, err)
		}
	}
}

func TestEncodeRejects(t *testing.T) {
	for name, change := range map[string]func(p *Plan){
		"invalid plan": func(p *Plan) { p.Kernels[0].Code = 7 },
		"bad UTF-8":    func(p *Plan) { p.Remarks[0].Text = "\xff" },
	} {
		p := sample()
		change(p)
		var want *InvalidError
		if _, err := Encode(p); !errors.As(err, &want) {
			t.Errorf("%s: %v, want an InvalidError", name, err)
		}
	}
}

// FuzzDecode gives the decoder bodies under a right checksum, and files as they
// are. What it accepts is valid and has one encoding, from which it comes back.
func FuzzDecode(f *testing.F) {
	good := encode(f, sample())
	f.Add(good[headerSize:], true)
	f.Add(encode(f, &Plan{Devices: []Device{{}}})[headerSize:], true)
	f.Add(good, false)
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed {
			b = seal(b)
		}
		p, err := Decode(b)
		if err != nil {
			return
		}
		again := encode(t, p)
		q, err := Decode(again)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(encode(t, q), again) {
			t.Fatal("the bytes of a decoded plan differ from its own")
		}
		for i := range p.Devices {
			for _, buf := range p.Devices[i].Buffers {
				p.Mesh.Box(p.RanksOf(&p.Devices[i])[0], buf.Axes)
			}
			p.CodeKind(&p.Devices[i])
		}
	})
}
