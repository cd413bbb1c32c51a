package rolled

import (
	"fmt"
	"strings"
	"testing"
)

// TestIssues: tasks in the order of their ticks, with what is posted one tick early, and runs in theirs.
func TestIssues(t *testing.T) {
	ahead := []int{0, 1, 0, 1, 0, 0}
	p := New(Text{Ops: 6, Ahead: func(i int) int { return ahead[i] }, Micro: 2,
		Runs:  []Run{{Way{Count: 2, Down: true}, 2, 4}},
		Tasks: []Task{{0, 1, true}, {1, 5, false}, {5, 6, true}},
		Ticks: []Tick{{0, 0}, {1, 0}, {1, 1}, {2, 0}}})
	var got []string
	for x := range p.Issues() {
		s := fmt.Sprint(x.Op)
		if x.Instance != Once {
			s += fmt.Sprint("#", x.Instance)
		}
		if x.Micro != Once {
			s += fmt.Sprint(":", x.Micro)
		}
		if x.First {
			s += "!"
		}
		got = append(got, s)
	}
	if want := "0! 1:0! 1:1 3#1:0! 2#1:0! 3#0:0! 2#0:0! 4:0! 3#1:1 2#1:1 3#0:1 2#0:1 4:1 5!"; strings.Join(got, " ") != want {
		t.Errorf("issued %s\n  want %s", strings.Join(got, " "), want)
	}
	if p.Head(1) != 3 || p.Head(0) != 0 || p.Times(2) != 4 || p.Times(1) != 2 || p.Times(5) != 1 {
		t.Errorf("heads %d and %d, times %d, %d and %d", p.Head(1), p.Head(0), p.Times(2), p.Times(1), p.Times(5))
	}
}

// TestGroups: hulls that meet in a chain are one group; what two memories have never meets.
func TestGroups(t *testing.T) {
	row := Spread{Step: 2, Ring: 9}
	hulls := []Hull[string]{{"host", 0, 9, Spread{}, 0}, {"", 8, 12, row, 1}, {"", 0, 4, row, 2}, {"", 3, 9, row, 3}, {"", 12, 14, Spread{}, 4}}
	var got []string
	for group := range Groups(hulls) {
		for _, h := range group {
			got = append(got, fmt.Sprint(h.ID))
		}
		got = append(got, "|")
	}
	if want := "2 3 1 | 4 | 0 |"; strings.Join(got, " ") != want {
		t.Errorf("groups %s, want %s", strings.Join(got, " "), want)
	}
	if !Alike(hulls) {
		t.Error("hulls that meet move in one way")
	}
	if hulls[1].Moves = (Spread{Step: 4, Ring: 9}); Alike(hulls) {
		t.Error("hulls that meet move by one step and by another one")
	}
}
