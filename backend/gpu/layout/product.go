package layout

// Outer is the layout of the sums of an m×n tile that threads multiply on their own: each has a
// square as far as possible, in pieces of 4 × 4, for which it reads 4 neighbours of a row and
// of a column. 8 lanes go on along the columns and 4 along the rows, then pieces, then warps.
func Outer(m, n int, t Threads) *Layout {
	l := &Layout{Sizes: []int{m, n}}
	done := [2]int{1, 1}
	add := func(to *[]Basis, d int) {
		b := Basis{0, 0}
		if done[d] == l.Sizes[d] {
			d = 1 - d
		}
		if done[d] < l.Sizes[d] {
			b[d] = done[d]
			done[d] *= 2
		}
		*to = append(*to, b)
	}
	const rows, cols = 0, 1
	for _, d := range []int{cols, rows} {
		for i := 1; i < 4 && done[d] < l.Sizes[d] && enough(l, done, t); i *= 2 {
			add(&l.Reg, d)
		}
	}
	for i := range log(t.Lanes) {
		if i < 3 {
			add(&l.Lane, cols)
		} else {
			add(&l.Lane, rows)
		}
	}
	// How often the dimensions are still halved by warps, the longer one first, and what
	// pieces of a thread remain between.
	left := [2]int{m / done[rows], n / done[cols]}
	var order []int
	for range log(t.Warps) {
		d := rows
		if left[cols] > left[rows] {
			d = cols
		}
		order = append(order, d)
		left[d] = max(1, left[d]/2)
	}
	for _, d := range []int{cols, rows} {
		for ; left[d] > 1; left[d] /= 2 {
			add(&l.Reg, d)
		}
	}
	for _, d := range order {
		add(&l.Warp, d)
	}
	return l
}

// enough reports whether each thread has more than one element of what has no place yet.
func enough(l *Layout, done [2]int, t Threads) bool {
	return l.Sizes[0]/done[0]*(l.Sizes[1]/done[1]) > t.Lanes*t.Warps
}

// Arrange is how warps share an m×n tile of matrix instructions: halves of the longer
// side of what a warp has, of 16 rows and 16 columns at least as long as there are such.
func Arrange(m, n, warps int) (rows, cols int) {
	rows, cols = 1, 1
	for rows*cols < warps {
		switch m, n := m/rows, n/cols; {
		case n >= m && n > 16, m <= 16 && n > 8:
			cols *= 2
		default:
			rows *= 2
		}
	}
	return rows, cols
}

// Groups is the layout of the sums of matrix instructions of warpgroups: four warps have 16 rows each of 64,
// in pieces as [Sums] has them. Groups share the rows as far as each has 64, and then the columns.
func Groups(m, n, warps int) *Layout {
	const warpsOf, rowsOf = 4, 64
	groups := warps / warpsOf
	rows := min(groups, max(1, m/rowsOf))
	l := Sums(rowsOf, n/(groups/rows), warpsOf, 1)
	l.Sizes = []int{m, n}
	cols := n / (groups / rows)
	at := rowsOf
	for g := 1; g < rows; g, at = 2*g, 2*at {
		l.Warp = append(l.Warp, Basis{at, 0})
	}
	for ; at < m; at *= 2 {
		l.Reg = append(l.Reg, Basis{at, 0})
	}
	for ; cols < n; cols *= 2 {
		l.Warp = append(l.Warp, Basis{0, cols})
	}
	return l
}
