package main

import (
	"fmt"
	"strings"
)

// contextLines is how many equal lines a hunk shows around a change.
const contextLines = 3

// edit is a line of one text, the other, or both (' ').
type edit struct {
	op   byte // ' ', '-' or '+'
	line string
}

// unified is the difference between two texts in the unified format.
func unified(name, before, after string) string {
	edits := compare(splitLines(before), splitLines(after))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s (formatted)\n", name, name)
	// Line numbers, from 1, of the edit at i in both texts.
	x, y := 1, 1
	for i := 0; i < len(edits); {
		if edits[i].op == ' ' {
			i, x, y = i+1, x+1, y+1
			continue
		}
		from := max(0, i-contextLines)
		lead := i - from
		to := hunkEnd(edits, i)
		hunk(&b, edits[from:to], x-lead, y-lead)
		for ; i < to; i++ {
			if edits[i].op != '+' {
				x++
			}
			if edits[i].op != '-' {
				y++
			}
		}
	}
	return b.String()
}

// hunkEnd is behind the last line of the hunk whose first change is at i: so
// few equal lines between two changes that their contexts meet join them.
func hunkEnd(edits []edit, i int) int {
	last := i
	for j := i; j < len(edits) && j-last <= 2*contextLines; j++ {
		if edits[j].op != ' ' {
			last = j
		}
	}
	return min(len(edits), last+1+contextLines)
}

func hunk(b *strings.Builder, edits []edit, x, y int) {
	var old, now int
	for _, e := range edits {
		if e.op != '+' {
			old++
		}
		if e.op != '-' {
			now++
		}
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", x, old, y, now)
	for _, e := range edits {
		b.WriteByte(e.op)
		b.WriteString(e.line)
		if !strings.HasSuffix(e.line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// splitLines keeps the line ends.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// compare is a shortest list of edits that turns a into b: E. Myers, "An O(ND)
// difference algorithm and its variations" (1986), section 4, with the farthest
// points of every round kept to walk back.
func compare(a, b []string) []edit {
	var rounds [][]int
	v := []int{0} // v[k+d]: the farthest x on diagonal k = x-y after d edits
	for d := 0; d <= maxEdits; d++ {
		next := make([]int, 2*d+1)
		for k := -d; k <= d; k += 2 {
			x := 0
			if d > 0 {
				x = step(v, d, k)
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			next[k+d] = x
			if x >= len(a) && x-k >= len(b) {
				return walkBack(a, b, append(rounds, next), d, k)
			}
		}
		rounds = append(rounds, next)
		v = next
	}
	var all []edit
	for _, line := range a {
		all = append(all, edit{'-', line})
	}
	for _, line := range b {
		all = append(all, edit{'+', line})
	}
	return all
}

// maxEdits bounds the memory of compare, which grows with the square; texts
// that differ in more lines are told as one replaced by the other.
const maxEdits = 2000

// step is where the d-th edit leads on diagonal k, from the round before.
func step(v []int, d, k int) int {
	at := func(k int) int { return v[k+d-1] }
	if k == -d || k != d && at(k-1) < at(k+1) {
		return at(k + 1) // a line of b is added
	}
	return at(k-1) + 1 // a line of a is removed
}

func walkBack(a, b []string, rounds [][]int, d, k int) []edit {
	var rev []edit
	x := rounds[d][k+d]
	for ; d > 0; d-- {
		v := rounds[d-1]
		start := step(v, d, k)
		for ; x > start; x-- {
			rev = append(rev, edit{' ', a[x-1]})
		}
		if k == -d || k != d && v[k-1+d-1] < v[k+1+d-1] {
			rev = append(rev, edit{'+', b[x-k-1]})
			k++
		} else {
			rev = append(rev, edit{'-', a[x-1]})
			k, x = k-1, x-1
		}
	}
	for ; x > 0; x-- {
		rev = append(rev, edit{' ', a[x-1]})
	}
	for i, j := 0, len(rev)-1; i < j; i, j = i+1, j-1 {
		rev[i], rev[j] = rev[j], rev[i]
	}
	return rev
}
