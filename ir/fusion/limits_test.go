package fusion_test

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// pairwise is what a value is for a query and a key; the truth is 1.
type pairwise func(q, k int) float64

// masked makes masks at random, and their values by hand.
type masked struct {
	op.Builder
	*rand.Rand
	q, k, n, data, scores *ir.Value
	opaque                bool // something was made that no analysis of positions reads
	// shows says of selects to which query they show which key.
	shows map[*ir.Value]func(q, k int) bool
}

// sized are queries, keys, and the number n that is the same for all.
const (
	queries, keys = 6, 5
	number        = 2
)

func newMasked(r *rand.Rand) *masked {
	m := &masked{Builder: op.Builder{F: &ir.Func{Name: "k"}}, Rand: r, shows: map[*ir.Value]func(q, k int) bool{}}
	s, t := ir.Axis{Name: "s", Size: queries}, ir.Axis{Name: "t", Size: keys}
	arg := func(d ir.DType, axes ...ir.Axis) *ir.Value {
		return m.F.AddArg(ir.Type{DType: d, Axes: axes}, ir.RoleIn, "", nil, m.Pos)
	}
	m.scores, m.data, m.n = arg(ir.F32, s, t), arg(ir.I32, s, t), arg(ir.I32)
	m.q = m.Emit("index", ir.A("axis", ir.Name("s"), "size", ir.Int(queries)))
	m.k = m.Emit("index", ir.A("axis", ir.Name("t"), "size", ir.Int(keys)))
	return m
}

// position is what the analysis is told.
func (m *masked) position(v *ir.Value) (p fusion.Affine, ok bool) {
	switch v {
	case m.q:
		return fusion.Affine{Row: 1}, true
	case m.k:
		return fusion.Affine{Key: 1}, true
	case m.n:
		return fusion.Affine{Plus: []*ir.Value{v}}, true
	}
	return p, false
}

// spread is v over queries and keys now and then.
func (m *masked) spread(v *ir.Value) *ir.Value {
	if m.Intn(8) > 0 {
		return v
	}
	return m.Broadcast(v, ir.Type{DType: v.Type.DType, Axes: m.scores.Type.Axes})
}

func (m *masked) integer(depth int) (*ir.Value, pairwise) {
	v, f := m.integerOf(depth)
	return m.spread(v), f
}

func (m *masked) integerOf(depth int) (*ir.Value, pairwise) {
	if depth > 0 && m.Intn(2) == 0 {
		x, f := m.integer(depth - 1)
		switch m.Intn(3) {
		case 0:
			return m.Neg(x), func(q, k int) float64 { return -f(q, k) }
		case 1:
			c := m.Intn(5) - 2
			return m.Add(m.Const(ir.I32, float64(c)), x), func(q, k int) float64 { return f(q, k) + float64(c) }
		}
		y, g := m.integer(0)
		return m.Sub(x, y), func(q, k int) float64 { return f(q, k) - g(q, k) }
	}
	switch m.Intn(20) {
	case 0:
		m.opaque = true
		return m.data, func(q, k int) float64 { return float64((5*q + 3*k) % 4) }
	case 1, 2:
		return m.n, func(int, int) float64 { return number }
	case 3, 4, 5:
		c := m.Intn(7) - 1
		return m.Const(ir.I32, float64(c)), func(int, int) float64 { return float64(c) }
	case 6, 7, 8, 9, 10, 11:
		return m.k, func(_, k int) float64 { return float64(k) }
	}
	return m.q, func(q, _ int) float64 { return float64(q) }
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (m *masked) condition(depth int) (*ir.Value, pairwise) {
	if depth > 0 && m.Intn(2) == 0 {
		x, f := m.condition(depth - 1)
		if m.Intn(3) == 0 {
			return m.spread(m.Emit("not", nil, x)), func(q, k int) float64 { return 1 - f(q, k) }
		}
		y, g := m.condition(depth - 1)
		if m.Intn(2) == 0 {
			return m.Emit("and", nil, x, y), func(q, k int) float64 { return min(f(q, k), g(q, k)) }
		}
		return m.Emit("or", nil, x, y), func(q, k int) float64 { return max(f(q, k), g(q, k)) }
	}
	x, f := m.integer(1)
	y, g := m.integer(1)
	kinds := []struct {
		name string
		is   func(a, b float64) bool
	}{
		{"ge", func(a, b float64) bool { return a >= b }}, {"gt", func(a, b float64) bool { return a > b }},
		{"le", func(a, b float64) bool { return a <= b }}, {"lt", func(a, b float64) bool { return a < b }},
		{"eq", func(a, b float64) bool { return a == b }}, {"ne", func(a, b float64) bool { return a != b }},
	}
	c := kinds[m.Intn(len(kinds))]
	return m.Emit(c.name, nil, x, y), func(q, k int) float64 { return truth(c.is(f(q, k), g(q, k))) }
}

// score makes scores of which some are hidden.
func (m *masked) score(depth int) (*ir.Value, pairwise) {
	if depth == 0 {
		return m.scores, func(q, k int) float64 { return float64(1 + q + k) }
	}
	x, f := m.score(depth - 1)
	scaled := func(v *ir.Value, by float64) (*ir.Value, pairwise) {
		return v, func(q, k int) float64 { return f(q, k) * by }
	}
	by := m.Like(x, 0.5)
	switch m.Intn(12) {
	case 0:
		return scaled(m.Mul(by, x), 0.5)
	case 1:
		return scaled(m.Mul(x, by), 0.5)
	case 2:
		return scaled(m.Div(x, by), 2)
	case 3: // what is hidden is not, and the other way round
		m.opaque = true
		return scaled(m.Mul(m.Like(x, -1), x), -1)
	case 4:
		return scaled(m.Emit("detach", nil, m.Cast(m.Cast(x, ir.BF16), ir.F32)), 1)
	case 5:
		y, g := m.score(depth - 1)
		c, h := m.condition(1)
		return m.Select(c, x, y), func(q, k int) float64 {
			if h(q, k) > 0 {
				return f(q, k)
			}
			return g(q, k)
		}
	}
	none := m.Like(x, math.Inf(-1))
	c, h := m.condition(2)
	shown := float64(m.Intn(2))
	v, w := x, none
	if m.Intn(3) == 0 {
		v = m.Like(x, 0) // it is added
	}
	base := v
	if shown == 0 {
		v, w = w, v
	}
	v = m.Select(c, v, w)
	m.shows[v] = func(q, k int) bool { return h(q, k) == shown }
	if base != x {
		v = m.Add(m.spread(v), x)
	}
	return v, func(q, k int) float64 {
		if h(q, k) != shown {
			return math.Inf(-1)
		}
		return f(q, k)
	}
}

// at is what l is for a query and a key.
func at(l fusion.Affine, q, k int) int64 {
	return l.Row*int64(q) + l.Key*int64(k) + l.Const + number*int64(len(l.Plus)-len(l.Minus))
}

// holds reports whether c holds; what is not known does.
func holds(c fusion.Condition, q, k int) bool {
	one := func(x fusion.Condition) bool { return holds(x, q, k) }
	switch c.Is {
	case fusion.All:
		return !slices.ContainsFunc(c.Of, func(x fusion.Condition) bool { return !one(x) })
	case fusion.Any:
		return slices.ContainsFunc(c.Of, one)
	case fusion.AtLeast0:
		return at(c.Limit, q, k) >= 0
	}
	return true
}

// selects visits the parts of c that are of selects which hide scores.
func selects(c fusion.Condition, visit func(fusion.Condition)) {
	if c.Hides != nil {
		visit(c)
	}
	for _, x := range c.Of {
		selects(x, visit)
	}
}

// TestMasks compares masks at random with what they hide, query by query and key by key: a score
// that is seen has the conditions, and one that is hidden has not, where positions alone hide it.
func TestMasks(t *testing.T) {
	read, unread, open := 0, 0, 0
	for seed := range int64(2000) {
		m := newMasked(rand.New(rand.NewSource(seed)))
		v, f := m.score(1 + m.Intn(3))
		c := (&fusion.Masks{Position: m.position}).Scores(v)
		all, _, _ := limits(c)
		for q := range queries {
			for k := range keys {
				switch sees := !math.IsInf(f(q, k), -1); {
				case sees && !holds(c, q, k):
					t.Fatalf("%d: query %d sees key %d, and the condition does not hold\n%s", seed, q, k, ir.PrintFunc(m.F))
				case sees && !within(all, q, k):
					t.Fatalf("%d: query %d sees key %d, and a limit does not hold\n%s", seed, q, k, ir.PrintFunc(m.F))
				case !sees && holds(c, q, k) && !m.opaque:
					t.Fatalf("%d: key %d is hidden from query %d, and the condition holds\n%s", seed, k, q, ir.PrintFunc(m.F))
				}
			}
		}
		if m.opaque {
			unread++
		} else if len(all) > 0 {
			read++
		}
		open += m.checkOpen(t, c)
	}
	if read < 500 || unread < 500 || open < 500 {
		t.Errorf("%d masks of positions with limits, %d others, %d selects of limits alone: the cases test little", read, unread, open)
	}
}

// limits are those that c needs, whether it needs nothing else, and how many selects are open.
func limits(c fusion.Condition) (all []fusion.Affine, exact bool, open int) {
	exact = c.Needs(func(x fusion.Condition) bool {
		all = append(all, x.Limit)
		return true
	}, func(_, _ *ir.Value) { open++ })
	return all, exact, open
}

func within(limits []fusion.Affine, q, k int) bool {
	return !slices.ContainsFunc(limits, func(l fusion.Affine) bool { return at(l, q, k) < 0 })
}

// checkOpen compares selects that hide by limits alone with those limits.
func (m *masked) checkOpen(t *testing.T, c fusion.Condition) (n int) {
	t.Helper()
	selects(c, func(x fusion.Condition) {
		all, exact, open := limits(x)
		if exact != (open == 1) {
			t.Fatalf("exact: %v, and %d open selects\n%s", exact, open, ir.PrintFunc(m.F))
		}
		for q := range queries {
			for k := range keys {
				if exact && within(all, q, k) != m.shows[x.Hides](q, k) {
					t.Fatalf("a select shows key %d to query %d: %v; its limits say otherwise\n%s", k, q, m.shows[x.Hides](q, k), ir.PrintFunc(m.F))
				}
			}
		}
		n += open
	})
	return n
}
