package jinja

import (
	"math"
	"math/bits"
	"strings"
)

// binary is an operation of two numbers, texts or lists.
type binary struct {
	line        int
	op          string
	left, right expr
}

func (x *binary) eval(s *state) Value {
	s.step(x.line)
	a, b := x.left.eval(s), x.right.eval(s)
	if x.op == "~" {
		l, r := s.show(a, x.line), s.show(b, x.line)
		s.pay(len(l)+len(r), x.line)
		return l + r
	}
	refuseUndefined(a, x.line)
	if _, format := a.(string); x.op != "%" || !format {
		refuseUndefined(b, x.line)
	}
	ai, af, aFloat, okA := number(a)
	bi, bf, bFloat, okB := number(b)
	switch {
	case okA && okB && (aFloat || bFloat || x.op == "/"):
		return x.floats(af, bf)
	case okA && okB:
		return x.integers(ai, bi)
	case x.op == "+":
		if v := s.sum(a, b, x.line); v != nil {
			return v
		}
	case x.op == "*" && okA && !aFloat:
		if v := s.repeat(b, ai, x.line); v != nil {
			return v
		}
	case x.op == "*" && okB && !bFloat:
		if v := s.repeat(a, bi, x.line); v != nil {
			return v
		}
	case x.op == "%":
		if format, ok := a.(string); ok {
			args := []Value{b}
			if l, is := b.(*List); is && l.shape == tuple {
				args = l.items
			}
			return s.format(format, args, x.line)
		}
	}
	fail(x.line, "%s is not defined of a %s and a %s", x.op, typeName(a), typeName(b))
	return nil
}

// sum joins texts, or lists; nil: it does neither.
func (s *state) sum(a, b Value, line int) Value {
	switch l := a.(type) {
	case string:
		if r, ok := b.(string); ok {
			s.pay(len(l)+len(r), line)
			return l + r
		}
	case *List:
		if r, ok := b.(*List); ok && l.shape == r.shape && l.shape <= tuple {
			s.payItems(len(l.items)+len(r.items), line)
			return &List{shape: l.shape, items: append(append([]Value{}, l.items...), r.items...)}
		}
	}
	return nil
}

// repeat is a text or a list n times; nil: it is neither.
func (s *state) repeat(v Value, n int64, line int) Value {
	n = max(n, 0)
	switch v := v.(type) {
	case string:
		if len(v) > 0 && n > maxText/int64(len(v)) {
			fail(line, "a text has more than %d bytes", maxText)
		}
		s.pay(len(v)*int(n), line)
		return strings.Repeat(v, int(n))
	case *List:
		if v.shape > tuple {
			return nil
		}
		if len(v.items) > 0 && n > maxItems/int64(len(v.items)) {
			fail(line, "a list has more than %d elements", maxItems)
		}
		s.payItems(len(v.items)*int(n), line)
		out := &List{shape: v.shape}
		for i := int64(0); i < n && len(v.items) > 0; i++ {
			out.items = append(out.items, v.items...)
		}
		return out
	}
	return nil
}

func (x *binary) floats(a, b float64) Value {
	if b == 0 && (x.op == "/" || x.op == "//" || x.op == "%") {
		fail(x.line, "a division by 0")
	}
	switch x.op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/":
		return a / b
	case "//":
		return math.Floor(a / b)
	case "%":
		m := math.Mod(a, b)
		if m != 0 && (m < 0) != (b < 0) {
			m += b
		}
		return m
	}
	v := math.Pow(a, b)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		fail(x.line, "a power is no real number")
	}
	return v
}

// integers are of 64 bits; where Python would give more, there is an error.
func (x *binary) integers(a, b int64) Value {
	if b == 0 && (x.op == "//" || x.op == "%") {
		fail(x.line, "a division by 0")
	}
	out, ok := int64(0), true
	switch x.op {
	case "+":
		out = a + b
		ok = (out > a) == (b > 0)
	case "-":
		out = a - b
		ok = (out < a) == (b > 0)
	case "*":
		out, ok = product(a, b)
	case "//", "%":
		ok = a != math.MinInt64 || b != -1
		if !ok {
			break
		}
		q, m := a/b, a%b
		if m != 0 && (m < 0) != (b < 0) {
			q, m = q-1, m+b
		}
		if out = q; x.op == "%" {
			out = m
		}
	case "**":
		if b < 0 {
			return x.floats(float64(a), float64(b))
		}
		if a >= -1 && a <= 1 {
			b = min(b, 2-b%2) // the powers of these alternate
		}
		for out = 1; b > 0 && ok; b-- {
			out, ok = product(out, a)
		}
	}
	if !ok {
		fail(x.line, "an integer needs more than 64 bits")
	}
	return out
}

func product(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(max(a, -a)), uint64(max(b, -b)))
	if hi != 0 || lo > math.MaxInt64 || a == math.MinInt64 || b == math.MinInt64 {
		return 0, false
	}
	return a * b, true
}
