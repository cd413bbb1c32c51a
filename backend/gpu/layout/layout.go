package layout

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Basis is how far a bit moves the position along each dimension: 0, or a power of two
// along one of them. All zeros: what differs in the bit alone is the same element.
type Basis []int

// Layout is the place of each element of a tile.
type Layout struct {
	Sizes           []int   // of the tile, powers of two
	Reg, Lane, Warp []Basis // by bit, the lowest first
	From            Basis   // of a slice ([Layout.Slice]): the position of its first element; else nil
}

// Threads are those of a block: so many lanes of each warp, and so many warps, powers of two.
type Threads struct{ Lanes, Warps int }

// log is how many bits numbers below n have, which is a power of two.
func log(n int) int { return bits.Len(uint(n)) - 1 }

// At is the element that a register of a thread has.
func (l *Layout) At(reg, lane, warp int) []int {
	out := make([]int, len(l.Sizes))
	copy(out, l.From)
	for _, x := range []struct {
		n     int
		bases []Basis
	}{{reg, l.Reg}, {lane, l.Lane}, {warp, l.Warp}} {
		for i, b := range x.bases {
			if x.n>>i&1 != 0 {
				for d := range out {
					out[d] ^= b[d]
				}
			}
		}
	}
	return out
}

// Regs is how many registers of a thread have elements.
func (l *Layout) Regs() int { return 1 << len(l.Reg) }

// Warps is the number of warps.
func (l *Layout) Warps() int { return 1 << len(l.Warp) }

// Equal reports whether all elements have the same places.
func (l *Layout) Equal(o *Layout) bool { return l.String() == o.String() }

// String is `8×128 reg (0,1) (0,2) lane … warp …`.
func (l *Layout) String() string {
	var b strings.Builder
	for i, s := range l.Sizes {
		if i > 0 {
			b.WriteString("×")
		}
		b.WriteString(strconv.Itoa(s))
	}
	for _, x := range []struct {
		name  string
		bases []Basis
	}{{"reg", l.Reg}, {"lane", l.Lane}, {"warp", l.Warp}} {
		b.WriteString(" " + x.name)
		for _, v := range x.bases {
			b.WriteString(" (" + v.text() + ")")
		}
	}
	if l.From != nil && !isZero(l.From) {
		b.WriteString(" from (" + l.From.text() + ")")
	}
	return b.String()
}

func (b Basis) text() string {
	var out []byte
	for i, n := range b {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(n), 10)
	}
	return string(out)
}

// Project is where the elements of a tile are that lacks the dimensions for which keep does not
// hold, if each thread that had one along these now has it: registers that would have the same one
// are one.
func (l *Layout) Project(keep []bool) *Layout {
	cut := func(bases []Basis, drop bool) []Basis {
		var out []Basis
		for _, b := range bases {
			var c Basis
			for d, k := range keep {
				if k {
					c = append(c, b[d])
				}
			}
			if drop && isZero(c) {
				continue
			}
			out = append(out, c)
		}
		return out
	}
	out := &Layout{Reg: cut(l.Reg, true), Lane: cut(l.Lane, false), Warp: cut(l.Warp, false)}
	for d, k := range keep {
		if k {
			out.Sizes = append(out.Sizes, l.Sizes[d])
			if l.From != nil {
				out.From = append(out.From, l.From[d])
			}
		}
	}
	return out
}

func isZero(b Basis) bool { return !slices.ContainsFunc(b, func(x int) bool { return x != 0 }) }

// Blocked is a layout for a tile of which dimension fast is contiguous in memory: a
// thread has vec neighbours along it, and threads go on along it, then along the others, the last
// first. What is left is in further registers, the smallest distance first.
func Blocked(sizes []int, fast, vec int, t Threads) *Layout {
	return blocked(sizes, fast, vec, t, false, nil)
}

// BlockedBut is as Blocked, but that the given bits are of registers, the last ones.
func BlockedBut(sizes []int, fast, vec int, t Threads, last []Basis) *Layout {
	return blocked(sizes, fast, vec, t, false, last)
}

// Rows is as Blocked, but that warps go on along the other dimensions: each has all that is along fast of
// what it has, so that a sum along it stays within a warp.
func Rows(sizes []int, fast, vec int, t Threads) *Layout {
	return blocked(sizes, fast, vec, t, true, nil)
}

func blocked(sizes []int, fast, vec int, t Threads, apart bool, last []Basis) *Layout {
	l := &Layout{Sizes: sizes}
	done := make([]int, len(sizes)) // size that has places, by dimension
	for i := range done {
		done[i] = 1
	}
	order := []int{}
	if len(sizes) > 0 {
		order = append(order, fast)
		for d := len(sizes) - 1; d >= 0; d-- {
			if d != fast {
				order = append(order, d)
			}
		}
	}
	of := func(order []int) Basis {
		b := make(Basis, len(sizes))
		for _, d := range order {
			for done[d] < sizes[d] {
				b[d] = done[d]
				done[d] *= 2
				if !Has(last, b) {
					return b
				}
				b[d] = 0
			}
		}
		return b
	}
	next := func() Basis { return of(order) }
	for n := 1; len(sizes) > 0 && n < vec && done[fast] < sizes[fast]; n *= 2 {
		l.Reg = append(l.Reg, next())
	}
	for range log(t.Lanes) {
		l.Lane = append(l.Lane, next())
	}
	for range log(t.Warps) {
		if apart {
			l.Warp = append(l.Warp, of(order[1:]))
		} else {
			l.Warp = append(l.Warp, next())
		}
	}
	for b := next(); !isZero(b); b = next() {
		l.Reg = append(l.Reg, b)
	}
	l.Reg = append(l.Reg, last...)
	return l
}

// Sums is the layout of the sums of mma.sync and wgmma of an m×n tile: pieces of 16 × 8, where
// lane 4·r + c has columns 2·c and 2·c+1 of rows r and r+8 ("PTX ISA", 9.7.14.5). Warps are
// warpsM along the rows and the others along the columns; pieces of a warp go on along the
// columns first.
func Sums(m, n, warpsM, warpsN int) *Layout {
	l := &Layout{Sizes: []int{m, n}}
	l.Reg = append(l.Reg, Basis{0, 1}, Basis{8, 0})
	l.Lane = []Basis{{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}
	row, col := 16, 8
	// The columns of a warp, then its rows; warps are apart by as much as one has.
	for ; col*warpsN < n; col *= 2 {
		l.Reg = append(l.Reg, Basis{0, col})
	}
	rows := row
	for ; rows*warpsM < m; rows *= 2 {
	}
	for r := row; r < rows; r *= 2 {
		l.Reg = append(l.Reg, Basis{r, 0})
	}
	for w := 1; w < warpsM; w *= 2 {
		l.Warp = append(l.Warp, Basis{rows * w % max(m, 1), 0})
	}
	for w := 1; w < warpsN; w *= 2 {
		l.Warp = append(l.Warp, Basis{0, col * w % max(n, 1)})
	}
	return l
}

// Offset is how far register r is from register 0 along dimension d.
func (l *Layout) Offset(r, d int) int {
	n := 0
	for i, b := range l.Reg {
		if r>>i&1 != 0 {
			n ^= b[d]
		}
	}
	return n
}

// Registers is, for a register of l, that of its projection to keep with the same element.
func (l *Layout) Registers(keep []bool) func(r int) int {
	var bits []int // of l's numbers, that are left
	for i, b := range l.Reg {
		for d, k := range keep {
			if k && b[d] != 0 {
				bits = append(bits, i)
			}
		}
	}
	return func(r int) int {
		n := 0
		for j, i := range bits {
			n |= r >> i & 1 << j
		}
		return n
	}
}

// Permute is l for the tile whose dimension i is l's dimension from[i].
func (l *Layout) Permute(from []int) *Layout {
	move := func(bases []Basis) []Basis {
		out := make([]Basis, len(bases))
		for i, b := range bases {
			out[i] = make(Basis, len(from))
			for d, f := range from {
				out[i][d] = b[f]
			}
		}
		return out
	}
	out := &Layout{Reg: move(l.Reg), Lane: move(l.Lane), Warp: move(l.Warp), Sizes: make([]int, len(from))}
	for d, f := range from {
		out.Sizes[d] = l.Sizes[f]
	}
	if l.From != nil {
		out.From = move([]Basis{l.From})[0]
	}
	return out
}

// Copies is the bits of the numbers of lanes and warps in which threads with the same elements
// differ.
func (l *Layout) Copies() (lane, warp int) {
	for i, b := range l.Lane {
		if isZero(b) {
			lane |= 1 << i
		}
	}
	for i, b := range l.Warp {
		if isZero(b) {
			warp |= 1 << i
		}
	}
	return lane, warp
}

// Steps reports whether what is along dimension d is in groups of n neighbours, each in the
// registers of one thread that differ in the lowest bits.
func (l *Layout) Steps(d, n int) bool {
	for i, b := range slices.Concat(l.Reg, l.Lane, l.Warp) {
		if 1<<i < n {
			if b[d] != 1<<i {
				return false
			}
		} else if b[d] != 0 && b[d] < n {
			return false
		}
	}
	return true
}
