package emu

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"ptc/backend/gpu/ptx"
)

var families map[string]family

func init() {
	families = map[string]family{
		"mov": decodeMov, "setp": decodeSetp, "selp": decodeSelp, "cvt": decodeCvt, "cvta": decodeMov,
		"bra": decodeBranch, "ret": decodeEnd, "exit": decodeEnd, "bar": decodeBar, "barrier": decodeBar,
		"ld": decodeAccess, "st": decodeAccess, "shfl": decodeShuffle, "vote": decodeVote,
		"cp": decodeCopy, "ldmatrix": decodeMatrix, "stmatrix": decodeMatrix, "mma": decodeMMA, "mbarrier": decodeBarrier, "fence": decodeFence,
		"elect": decodeElect, "setmaxnreg": decodeRegisters, "prefetch": decodePrefetch, "wgmma": decodeWGMMA, "mapa": decodeMapa,
	}
	for name, n := range map[string]int{
		"add": 2, "sub": 2, "mul": 2, "div": 2, "rem": 2, "min": 2, "max": 2, "and": 2, "or": 2, "xor": 2, "shl": 2, "shr": 2,
		"neg": 1, "abs": 1, "not": 1, "sqrt": 1, "rcp": 1, "rsqrt": 1, "ex2": 1, "lg2": 1, "tanh": 1, "sin": 1, "cos": 1,
		"mad": 3, "fma": 3, "popc": 1, "prmt": 3, "lop3": 4,
	} {
		families[name] = func(d *decoder, s *ptx.Stmt, parts []string, in *inst) error { return decodeArith(d, s, parts, in, n) }
	}
}

// fn1, fn2 and fn3 compute one lane's result from its operands, as they lie in registers.
type (
	fn1 = func(a uint64) uint64
	fn2 = func(a, b uint64) uint64
	fn3 = func(a, b, c uint64) uint64
)

func decodeArith(d *decoder, s *ptx.Stmt, parts []string, in *inst, n int) error {
	t, err := typeOf(parts[len(parts)-1])
	if err != nil {
		return err
	}
	if err := d.registers(s, in, 1, n, t.bits); err != nil {
		return err
	}
	switch f := arithmetic(parts, t).(type) {
	case fn1:
		in.run = lanes1(f)
	case fn2:
		in.run = lanes2(f)
	case fn3:
		in.run = lanes3(f)
	default:
		return fmt.Errorf("the instruction is not known")
	}
	return nil
}

// numType is the type that ends an instruction's name.
type numType struct {
	kind byte // f, s, u, b, p
	bits int
	half string // bf16, f16, e4m3 or e5m2
	two  bool   // two of them in a register
}

func typeOf(word string) (numType, error) {
	types := map[string]numType{
		"f32": {kind: 'f', bits: 32}, "f64": {kind: 'f', bits: 64}, "pred": {kind: 'p', bits: 1},
		"bf16": {kind: 'h', bits: 16, half: "bf16"}, "f16": {kind: 'h', bits: 16, half: "f16"},
		"bf16x2": {kind: 'h', bits: 32, half: "bf16", two: true}, "f16x2": {kind: 'h', bits: 32, half: "f16", two: true},
		"e4m3x2": {kind: 'h', bits: 16, half: "e4m3", two: true}, "e5m2x2": {kind: 'h', bits: 16, half: "e5m2", two: true},
		"tf32": {kind: 'f', bits: 32, half: "tf32"},
	}
	if t, ok := types[word]; ok {
		return t, nil
	}
	var t numType
	if n, err := fmt.Sscanf(word, "%c%d", &t.kind, &t.bits); n == 2 && err == nil {
		switch t.kind {
		case 's', 'u', 'b':
			switch t.bits {
			case 8, 16, 32, 64:
				return t, nil
			}
		}
	}
	return t, fmt.Errorf("type `%s` is not known", word)
}

// arithmetic is the function of an instruction; nil if there is none of that name and type.
func arithmetic(parts []string, t numType) any {
	has := func(word string) bool { return slices.Contains(parts[1:], word) }
	switch t.kind {
	case 'f':
		if t.bits == 32 {
			return float32s(parts[0], has)
		}
		return float64s[parts[0]]
	case 'h':
		return halves(parts[0], t)
	case 'p':
		return bitwise(parts[0], 1)
	}
	if f := bitwise(parts[0], t.bits); f != nil {
		return f
	}
	if t.kind == 's' {
		return signed(parts[0], t.bits, has)
	}
	return unsigned(parts[0], t.bits, has)
}

func f32(x uint64) float32  { return math.Float32frombits(uint32(x)) }
func of32(x float32) uint64 { return uint64(math.Float32bits(x)) }
func f64(x uint64) float64  { return math.Float64frombits(x) }
func of64(x float64) uint64 { return math.Float64bits(x) }

func float32s(name string, has func(string) bool) any {
	one := func(f func(x float64) float64) any {
		return fn1(func(a uint64) uint64 { return of32(float32(f(float64(f32(a))))) })
	}
	if has("approx") {
		if f := map[string]any{
			"rsqrt": one(func(x float64) float64 { return 1 / math.Sqrt(x) }),
			"ex2":   fn1(func(a uint64) uint64 { return near(float32(math.Exp2(float64(f32(a)))), a, has("ftz")) }),
			"lg2":   one(math.Log2),
			"tanh":  one(math.Tanh),
			"sin":   one(math.Sin),
			"cos":   one(math.Cos),
		}[name]; f != nil {
			return f
		}
	}
	return map[string]any{
		"add":  fn2(func(a, b uint64) uint64 { return of32(f32(a) + f32(b)) }),
		"sub":  fn2(func(a, b uint64) uint64 { return of32(f32(a) - f32(b)) }),
		"mul":  fn2(func(a, b uint64) uint64 { return of32(f32(a) * f32(b)) }),
		"fma":  fn3(func(a, b, c uint64) uint64 { return of32(fma32(f32(a), f32(b), f32(c))) }),
		"div":  fn2(func(a, b uint64) uint64 { return of32(f32(a) / f32(b)) }),
		"min":  fn2(func(a, b uint64) uint64 { return of32(least(f32(a), f32(b), has("NaN"))) }),
		"max":  fn2(func(a, b uint64) uint64 { return of32(-least(-f32(a), -f32(b), has("NaN"))) }),
		"neg":  fn1(func(a uint64) uint64 { return a ^ 1<<31 }),
		"abs":  fn1(func(a uint64) uint64 { return a &^ (1 << 31) }),
		"sqrt": one(math.Sqrt),
		"rcp":  one(func(x float64) float64 { return 1 / x }),
	}[name]
}

// near is x of an operand, 2 units in the last place beside it at most, as an approximation may be: nothing may rely on
// its last bits. Which way is always the same for an operand.
func near(x float32, operand uint64, flush bool) uint64 {
	const smallest = 0x1p-126
	bits := of32(x)
	switch {
	case x == 0 || x != x || math.IsInf(float64(x), 0) || x == 1:
		return bits
	case x < smallest && flush:
		return 0
	}
	return bits + uint64(uint32(operand)*0x9e3779b1>>16%5) - 2
}

// least is the smaller number, and the other one if one is none; NaN if that is asked for.
func least(a, b float32, nan bool) float32 {
	switch {
	case a != a:
		if nan {
			return a
		}
		return b
	case b != b:
		if nan {
			return b
		}
		return a
	}
	return min(a, b)
}

// fma32 is a·b + c, rounded once. The product is exact in float64; where the sum is not, its
// last bit is set, so that it does not look as if it were halfway between two float32
// (rounding to odd: Boldo and Melquiond, IEEE Trans. Computers 57, 2008).
func fma32(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	if math.IsInf(s, 0) || s != s {
		return float32(s)
	}
	v := s - p
	if e := (p - (s - v)) + (q - v); e != 0 {
		if x := math.Float64bits(s); x&1 == 0 {
			if (e > 0) == (s > 0) {
				s = math.Float64frombits(x + 1)
			} else {
				s = math.Float64frombits(x - 1)
			}
		}
	}
	return float32(s)
}

var float64s = map[string]any{
	"add":  fn2(func(a, b uint64) uint64 { return of64(f64(a) + f64(b)) }),
	"sub":  fn2(func(a, b uint64) uint64 { return of64(f64(a) - f64(b)) }),
	"mul":  fn2(func(a, b uint64) uint64 { return of64(f64(a) * f64(b)) }),
	"fma":  fn3(func(a, b, c uint64) uint64 { return of64(math.FMA(f64(a), f64(b), f64(c))) }),
	"div":  fn2(func(a, b uint64) uint64 { return of64(f64(a) / f64(b)) }),
	"neg":  fn1(func(a uint64) uint64 { return a ^ 1<<63 }),
	"abs":  fn1(func(a uint64) uint64 { return a &^ (1 << 63) }),
	"sqrt": fn1(func(a uint64) uint64 { return of64(math.Sqrt(f64(a))) }),
}

func bitwise(name string, n int) any {
	if name == "prmt" && n != 32 {
		return nil
	}
	m := mask(n)
	return map[string]any{
		"and":  fn2(func(a, b uint64) uint64 { return a & b }),
		"or":   fn2(func(a, b uint64) uint64 { return a | b }),
		"xor":  fn2(func(a, b uint64) uint64 { return a ^ b }),
		"not":  fn1(func(a uint64) uint64 { return ^a & m }),
		"popc": fn1(func(a uint64) uint64 { return uint64(bits.OnesCount64(a & m)) }),
		"shl":  fn2(func(a, b uint64) uint64 { return a << (b & 0xffffffff) & m }),
		"prmt": fn3(permute),
	}[name]
}

// permute chooses four of the eight bytes of two words.
func permute(a, b, sel uint64) uint64 {
	both := b<<32 | a&0xffffffff
	var out uint64
	for i := range 4 {
		k := sel >> (4 * i)
		x := both >> (8 * (k & 7)) & 0xff
		if k&8 != 0 { // its sign, eight times
			x = uint64(int8(x)>>7) & 0xff
		}
		out |= x << (8 * i)
	}
	return out
}

func extend(x uint64, n int) int64 { return int64(x<<(64-n)) >> (64 - n) }

// ordered is an operation on integers, signed or not, whose bits m has; get is the number in a register.
func ordered[T int64 | uint64](name string, m uint64, get func(x uint64) T) any {
	return map[string]any{
		"div": fn2(func(a, b uint64) uint64 {
			if b&m == 0 {
				return m
			}
			return uint64(get(a)/get(b)) & m
		}),
		"rem": fn2(func(a, b uint64) uint64 {
			if b&m == 0 {
				return a
			}
			return uint64(get(a)%get(b)) & m
		}),
		"min": fn2(func(a, b uint64) uint64 { return uint64(min(get(a), get(b))) & m }),
		"max": fn2(func(a, b uint64) uint64 { return uint64(max(get(a), get(b))) & m }),
		"shr": fn2(func(a, b uint64) uint64 { return uint64(get(a)>>(b&0xffffffff)) & m }),
		"add": fn2(func(a, b uint64) uint64 { return (a + b) & m }),
		"sub": fn2(func(a, b uint64) uint64 { return (a - b) & m }),
	}[name]
}

func signed(name string, n int, has func(string) bool) any {
	m := mask(n)
	s := func(x uint64) int64 { return extend(x, n) }
	switch name {
	case "neg":
		return fn1(func(a uint64) uint64 { return -a & m })
	case "abs":
		return fn1(func(a uint64) uint64 { return uint64(max(s(a), -s(a))) & m })
	case "mul", "mad":
		if has("hi") && n == 32 {
			return fn2(func(a, b uint64) uint64 { return uint64(s(a)*s(b)>>32) & m })
		}
		return products(name, has("wide"), m, func(a, b uint64) uint64 { return uint64(s(a) * s(b)) })
	}
	return ordered(name, m, s)
}

func unsigned(name string, n int, has func(string) bool) any {
	m := mask(n)
	if name != "mul" && name != "mad" {
		return ordered(name, m, func(x uint64) uint64 { return x & m })
	}
	switch {
	case has("hi") && n == 64:
		return fn2(func(a, b uint64) uint64 { hi, _ := bits.Mul64(a, b); return hi })
	case has("hi"):
		return fn2(func(a, b uint64) uint64 { return (a & m) * (b & m) >> n })
	}
	return products(name, has("wide"), m, func(a, b uint64) uint64 { return (a & m) * (b & m) })
}

func products(name string, wide bool, m uint64, mul fn2) any {
	if wide {
		m = math.MaxUint64
	}
	if name == "mad" {
		return fn3(func(a, b, c uint64) uint64 { return (mul(a, b) + c) & m })
	}
	return fn2(func(a, b uint64) uint64 { return mul(a, b) & m })
}

func lanes1(f fn1) func(*warp, *inst) error {
	return func(w *warp, in *inst) error {
		to, a := &w.file[in.to[0]], &w.file[in.from[0]]
		for m := w.flow.mask; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			to[i] = f(a[i])
		}
		return nil
	}
}

func lanes2(f fn2) func(*warp, *inst) error {
	return func(w *warp, in *inst) error {
		to, a, b := &w.file[in.to[0]], &w.file[in.from[0]], &w.file[in.from[1]]
		if w.flow.mask == everyLane {
			for i := range to {
				to[i] = f(a[i], b[i])
			}
			return nil
		}
		for m := w.flow.mask; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			to[i] = f(a[i], b[i])
		}
		return nil
	}
}

func lanes3(f fn3) func(*warp, *inst) error {
	return func(w *warp, in *inst) error {
		to, a, b, c := &w.file[in.to[0]], &w.file[in.from[0]], &w.file[in.from[1]], &w.file[in.from[2]]
		if w.flow.mask == everyLane {
			for i := range to {
				to[i] = f(a[i], b[i], c[i])
			}
			return nil
		}
		for m := w.flow.mask; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			to[i] = f(a[i], b[i], c[i])
		}
		return nil
	}
}
