package emu

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"ptc/backend/gpu/ptx"
)

// decodeMov is mov and cvta: of one register, or between one and the halves of it.
func decodeMov(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	t, err := typeOf(parts[len(parts)-1])
	if err != nil {
		return err
	}
	if err := d.registers(s, in, 1, 1, t.bits); err != nil {
		return err
	}
	if parts[0] == "cvta" && parts[1] == "param" {
		in.run = lanes1(func(a uint64) uint64 { return a + paramWindow })
		return nil
	}
	switch to, from := len(in.to), len(in.from); {
	case to == 1 && from == 1:
		in.run = lanes1(func(a uint64) uint64 { return a })
	case to == 1:
		in.run = each(func(w *warp, in *inst, l int) error { w.pack(in, l, t.bits); return nil })
	case from == 1:
		in.run = each(func(w *warp, in *inst, l int) error { w.unpack(in, l, t.bits); return nil })
	default:
		return fmt.Errorf("%d registers from %d", to, from)
	}
	return nil
}

// pack puts the operands behind each other into one register of n bits, unpack takes them apart.
func (w *warp) pack(in *inst, lane, n int) {
	var x uint64
	each := n / len(in.from)
	for i, f := range in.from {
		x |= w.file[f][lane] & mask(each) << (i * each)
	}
	w.file[in.to[0]][lane] = x
}

func (w *warp) unpack(in *inst, lane, n int) {
	x, each := w.file[in.from[0]][lane], n/len(in.to)
	for i, t := range in.to {
		w.file[t][lane] = x >> (i * each) & mask(each)
	}
}

// decodeSetp is setp.COMPARISON.TYPE p, a, b.
func decodeSetp(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	if len(parts) != 3 {
		return fmt.Errorf("the instruction is not known")
	}
	t, err := typeOf(parts[2])
	if err != nil {
		return err
	}
	if err := d.registers(s, in, 1, 2, t.bits); err != nil {
		return err
	}
	f := comparison(parts[1], t)
	if f == nil {
		return fmt.Errorf("the comparison is not known")
	}
	in.run = lanes2(func(a, b uint64) uint64 {
		if f(a, b) {
			return 1
		}
		return 0
	})
	return nil
}

// comparison compares floats, of which one may be no number (eq … ge do not hold then, neu
// and equ … do), and integers.
func comparison(name string, t numType) func(a, b uint64) bool {
	if len(name) < 2 {
		return nil
	}
	if t.kind == 'f' {
		get := f64
		if t.bits == 32 {
			get = func(x uint64) float64 { return float64(f32(x)) }
		}
		unordered := len(name) == 3 && name[2] == 'u'
		plain := orders[name[:2]]
		if plain == nil || len(name) > 2 && !unordered {
			return nil
		}
		return func(a, b uint64) bool {
			x, y := get(a), get(b)
			if x != x || y != y {
				return unordered
			}
			return plain(cmp.Compare(x, y))
		}
	}
	names := map[string]string{"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
	if n, ok := names[name]; ok && t.kind == 'u' {
		name = n
	}
	plain := orders[name]
	if plain == nil {
		return nil
	}
	m := mask(t.bits)
	return func(a, b uint64) bool {
		if t.kind == 's' {
			return plain(cmp.Compare(extend(a, t.bits), extend(b, t.bits)))
		}
		return plain(cmp.Compare(a&m, b&m))
	}
}

// orders are the comparisons: what they say of a number that is below, equal to or above another.
var orders = map[string]func(sign int) bool{
	"eq": func(sign int) bool { return sign == 0 },
	"ne": func(sign int) bool { return sign != 0 },
	"lt": func(sign int) bool { return sign < 0 },
	"le": func(sign int) bool { return sign <= 0 },
	"gt": func(sign int) bool { return sign > 0 },
	"ge": func(sign int) bool { return sign >= 0 },
}

// decodeSelp is selp.TYPE d, a, b, p.
func decodeSelp(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	t, err := typeOf(parts[len(parts)-1])
	if err != nil {
		return err
	}
	in.run = lanes3(func(a, b, p uint64) uint64 {
		if p != 0 {
			return a
		}
		return b
	})
	return d.registers(s, in, 1, 3, t.bits)
}

// decodeCvt is cvt[.ROUNDING].TO.FROM.
func decodeCvt(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	if len(parts) < 3 {
		return fmt.Errorf("the instruction is not known")
	}
	to, err := typeOf(parts[len(parts)-2])
	if err != nil {
		return err
	}
	from, err := typeOf(parts[len(parts)-1])
	if err != nil {
		return err
	}
	if f := fp8(to, from, parts[1:len(parts)-2]); f != nil {
		in.run = f
		return d.registers(s, in, 1, map[bool]int{true: 1, false: 2}[from.two], from.bits)
	}
	if to.two {
		if from.kind != 'f' || from.bits != 32 || !slices.Contains(parts, "rn") {
			return fmt.Errorf("the conversion is not known")
		}
		in.run = lanes2(func(high, low uint64) uint64 {
			return narrow(to.half, f32(high))<<16 | narrow(to.half, f32(low))
		})
		return d.registers(s, in, 1, 2, 32)
	}
	f := conversion(to, from, parts[1:len(parts)-2])
	if f == nil {
		return fmt.Errorf("the conversion is not known")
	}
	in.run = lanes1(f)
	return d.registers(s, in, 1, 1, from.bits)
}

func conversion(to, from numType, how []string) fn1 {
	isInt := func(t numType) bool { return t.kind == 's' || t.kind == 'u' }
	isFloat := func(t numType) bool { return t.kind == 'f' || t.kind == 'h' }
	switch {
	case isInt(to) && isInt(from):
		m := mask(to.bits)
		if from.kind == 's' {
			return func(a uint64) uint64 { return uint64(extend(a, from.bits)) & m }
		}
		return func(a uint64) uint64 { return a & mask(from.bits) & m }
	case isFloat(to) && isInt(from) && slices.Contains(how, "rn"):
		return func(a uint64) uint64 {
			if from.kind == 's' {
				if x := extend(a, from.bits); to.bits == 64 {
					return of64(float64(x))
				} else {
					return toFloat(to, float32(x), float64(x))
				}
			}
			x := a & mask(from.bits)
			return toFloat(to, float32(x), float64(x))
		}
	case isInt(to) && isFloat(from):
		round := rounding(how)
		if round == nil {
			return nil
		}
		return func(a uint64) uint64 { return saturate(round(wide(from, a)), to) }
	case isFloat(to) && isFloat(from):
		if to.bits == from.bits && to.half == from.half { // to an integer that is a float
			if round := rounding(how); round != nil {
				return func(a uint64) uint64 { x := round(wide(from, a)); return toFloat(to, float32(x), x) }
			}
		}
		return func(a uint64) uint64 { x := wide(from, a); return toFloat(to, float32(x), x) }
	}
	return nil
}

// wide is a float of any type as a float64, which has it exactly.
func wide(t numType, a uint64) float64 {
	switch {
	case t.half == "bf16":
		return float64(f32(a & 0xffff << 16))
	case t.half == "f16":
		return float64(fromHalf(uint16(a)))
	case t.bits == 64:
		return f64(a)
	}
	return float64(f32(a))
}

// toFloat rounds to t, from a number that is given as f32, to the nearest, and as f64.
func toFloat(t numType, x float32, y float64) uint64 {
	switch {
	case t.half == "bf16" || t.half == "f16":
		return narrow(t.half, x)
	case t.half == "tf32":
		return tf32(x)
	case t.bits == 64:
		return of64(y)
	}
	return of32(x)
}

var roundings = map[string]func(float64) float64{"rni": math.RoundToEven, "rzi": math.Trunc, "rmi": math.Floor, "rpi": math.Ceil}

func rounding(how []string) func(float64) float64 {
	for _, h := range how {
		if f := roundings[h]; f != nil {
			return f
		}
	}
	return nil
}

// saturate is x as an integer, the nearest there is; 0 for what is no number.
func saturate(x float64, t numType) uint64 {
	if x != x {
		return 0
	}
	lo, hi := 0.0, math.Ldexp(1, t.bits)
	if t.kind == 's' {
		lo, hi = -math.Ldexp(1, t.bits-1), math.Ldexp(1, t.bits-1)
	}
	switch {
	case x < lo:
		x = lo
	case x >= hi:
		if t.kind == 's' {
			return mask(t.bits - 1)
		}
		return mask(t.bits)
	}
	if t.kind == 's' {
		return uint64(int64(x)) & mask(t.bits)
	}
	return uint64(x)
}

// narrow rounds x to bf16 or f16, to the nearest, of two the even one.
func narrow(half string, x float32) uint64 {
	b := math.Float32bits(x)
	if half == "bf16" {
		if x != x {
			return 0x7fff
		}
		return uint64((b + 0x7fff + b>>16&1) >> 16)
	}
	return uint64(toHalf(x))
}

// tf32 is x with 10 bits behind the point, to the nearest, of two the one farther from 0.
func tf32(x float32) uint64 {
	b := math.Float32bits(x)
	if x != x || math.IsInf(float64(x), 0) {
		return uint64(b)
	}
	return uint64((b + 0x1000) &^ 0x1fff)
}

func fromHalf(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, int(h>>10&31), uint32(h&1023)
	switch {
	case exp == 31:
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	case exp == 0:
		x := float32(math.Ldexp(float64(frac), -24))
		return math.Float32frombits(math.Float32bits(x) | sign)
	}
	return math.Float32frombits(sign | uint32(exp+112)<<23 | frac<<13)
}

func toHalf(x float32) uint16 {
	sign := uint16(math.Float32bits(x) >> 16 & 0x8000)
	a := math.Abs(float64(x))
	switch {
	case x != x:
		return sign | 0x7fff
	case a >= 65520:
		return sign | 0x7c00
	case a < 0x1p-14:
		return sign | uint16(math.RoundToEven(a*0x1p24))
	}
	frac, exp := math.Frexp(a)
	m := math.RoundToEven(frac * 2048) // 1024 to 2048
	return sign | uint16(int(m)+(exp+13)<<10)
}

// halves computes with 16 bits: products and sums in f32 are exact enough for one rounding
// of f16 and bf16 (Figueroa, "When is double rounding innocuous?", 1995).
func halves(name string, t numType) any {
	up := func(x uint64) float32 { return float32(wide(numType{kind: 'h', bits: 16, half: t.half}, x&0xffff)) }
	op := map[string]func(a, b float32) float32{
		"add": func(a, b float32) float32 { return a + b },
		"sub": func(a, b float32) float32 { return a - b },
		"mul": func(a, b float32) float32 { return a * b },
		"min": func(a, b float32) float32 { return least(a, b, false) },
		"max": func(a, b float32) float32 { return -least(-a, -b, false) },
	}[name]
	if op == nil {
		return nil
	}
	return fn2(func(a, b uint64) uint64 {
		x := narrow(t.half, op(up(a), up(b)))
		if t.two {
			x |= narrow(t.half, op(up(a>>16), up(b>>16))) << 16
		}
		return x
	})
}
