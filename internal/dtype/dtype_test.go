package dtype

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every row has all that its class needs, and is found by its names.
func TestRowsAreComplete(t *testing.T) {
	for d := Invalid + 1; d < Count; d++ {
		r := &rows[d]
		if r.name == "" || r.safetensors == "" || r.bits == 0 || r.class == NoClass || r.decode == nil || r.encode == nil {
			t.Errorf("dtype %d (%s) is not complete", d, r.name)
			continue
		}
		float := r.class == Float
		if float != (r.exponent > 0) || float != (r.mantissa > 0) || float && 1+r.exponent+r.mantissa != r.bits {
			t.Errorf("%s has %d bits of exponent and %d of mantissa in %d bits", d, r.exponent, r.mantissa, r.bits)
		}
		if float == (r.max != 0) || r.min > r.max {
			t.Errorf("%s goes from %v to %v", d, r.min, r.max)
		}
		if !r.acc.Valid() || rows[r.acc].acc != r.acc || rows[r.acc].class != r.class || !d.Within(r.acc) {
			t.Errorf("%s is added up in %s", d, r.acc)
		}
		if narrow := d.IsNarrow(); narrow != (r.widen != nil) || narrow != (r.narrow != nil) || narrow != (r.from != nil) || narrow != (r.to != nil) || narrow && (r.acc != F32 || r.round == nil) {
			t.Errorf("%s is narrow: %v; its conversions with f32 say otherwise", d, narrow)
		}
		if got, ok := Parse(d.String()); r.tensor && (!ok || got != d) || !r.tensor && ok {
			t.Errorf("%s is read as %s", d, got)
		}
		if got, ok := ParseSafetensors(d.Safetensors()); !ok || got != d {
			t.Errorf("%s of a file is read as %s", d.Safetensors(), got)
		}
		for _, a := range r.aliases {
			if got, ok := Alias(a); !ok || got != d {
				t.Errorf("%s is read as %s", a, got)
			}
		}
	}
}

// Numbers of a dtype come back from memory as they are, and rounding gives what
// memory would.
func TestEncodeAndDecode(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, d := range All() {
		const n = 700 // more than a block
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64() * math.Exp2(float64(rng.IntN(40)-20))
			if lo, hi := d.Bounds(); !d.IsFloat() {
				x[i] = math.Trunc(lo + (hi-lo)*rng.Float64())
			}
			if !d.Holds(x[i]) {
				t.Fatalf("%v is none of %s", x[i], d)
			}
		}
		if !d.IsFloat() {
			x[0], x[1] = d.Bounds()
		}
		mem, got, rounded := make([]byte, n*d.Size()), make([]float64, n), slices.Clone(x)
		d.Encode(mem, x)
		d.Decode(got, mem)
		d.Round(rounded)
		if !slices.Equal(got, rounded) || !d.IsFloat() && !slices.Equal(got, x) {
			t.Errorf("%s: numbers do not come back", d)
		}
		again := make([]byte, len(mem))
		d.Encode(again, got)
		if !slices.Equal(again, mem) {
			t.Errorf("%s: elements do not come back", d)
		}
	}
}

func TestHolds(t *testing.T) {
	for _, c := range []struct {
		d    DType
		v    float64
		want bool
	}{
		{I32, math.MaxInt32, true}, {I32, math.MaxInt32 + 1, false}, {I32, math.MinInt32, true}, {I32, 0.5, false},
		{I32, math.NaN(), false}, {I64, 1 << 63, false}, {Bool, 1, true}, {Bool, 2, false}, {Bool, -1, false}, {U8, 255, true},
		{F16, 1e30, true}, {F32, math.NaN(), true}, {Invalid, 0, false},
	} {
		if got := c.d.Holds(c.v); got != c.want {
			t.Errorf("%s holds %v: %v", c.d, c.v, got)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		d    DType
		want []DType
	}{
		{Bool, []DType{Bool, I32, F16, BF16, F32, F64, I64, U8, F8E4M3, F8E5M2}},
		{U8, []DType{I32, F16, BF16, F32, F64, I64, U8}},
		{I32, []DType{I32, F64, I64}},
		{I64, []DType{I64}},
		{F16, []DType{F16, F32, F64}},
		{BF16, []DType{BF16, F32, F64}},
		{F8E4M3, []DType{F16, BF16, F32, F64, F8E4M3}},
		{F8E5M2, []DType{F16, BF16, F32, F64, F8E5M2}},
		{F32, []DType{F32, F64}},
		{F64, []DType{F64}},
	} {
		var got []DType
		for _, e := range All() {
			if c.d.Within(e) {
				got = append(got, e)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s lies within %v, want %v", c.d, got, c.want)
		}
	}
}

func TestChoices(t *testing.T) {
	if got := Names(Compute()); !slices.Equal(got, []string{"f32", "bf16", "f16"}) {
		t.Error(got)
	}
	if got := Names(Reduce()); !slices.Equal(got, []string{"f32", "bf16"}) {
		t.Error(got)
	}
	if got := Names(Tensors()); !slices.Equal(got, []string{"bool", "i32", "f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2"}) {
		t.Error(got)
	}
}

func TestBytes(t *testing.T) {
	for d := Invalid + 1; d < Count; d++ {
		for n := range 5 {
			if got := Bytes(d, n); 8*got != n*d.Bits() || Elems(d, got) != n || Elems(d, int64(got+d.Size()-1)) != int64(n) {
				t.Errorf("%d elements of %s take %d bytes, which hold %d", n, d, got, Elems(d, got))
			}
		}
	}
	if Bytes(Invalid, 3) != 0 || Elems(Invalid, 3) != 0 {
		t.Error("elements of no dtype have bytes")
	}
}
