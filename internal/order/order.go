package order

import "slices"

// Of returns the numbers below n, ascending.
func Of(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// By returns the numbers below n in the order of compare. Equal ones stay ascending.
func By(n int, compare func(a, b int) int) []int {
	out := Of(n)
	slices.SortStableFunc(out, compare)
	return out
}

// Deal deals things of these sizes to at most bins bins, the largest first, each to the bin that has the least. It
// returns the numbers of the things in each bin.
func Deal(sizes []int, bins int) [][]int {
	out := make([][]int, min(bins, max(1, len(sizes))))
	full := make([]int, len(out))
	for _, i := range By(len(sizes), func(a, b int) int { return sizes[b] - sizes[a] }) {
		least := slices.Index(full, slices.Min(full))
		out[least], full[least] = append(out[least], i), full[least]+sizes[i]
	}
	return out
}
