package order

import (
	"reflect"
	"testing"
)

func TestBy(t *testing.T) {
	keys := []int{3, 1, 3, 0, 1}
	if got := By(len(keys), func(a, b int) int { return keys[a] - keys[b] }); !reflect.DeepEqual(got, []int{3, 1, 4, 0, 2}) {
		t.Errorf("found %v", got)
	}
	if got := Of(3); !reflect.DeepEqual(got, []int{0, 1, 2}) {
		t.Errorf("found %v", got)
	}
}

// TestDeal: the largest come first, and equal ones fill the bins one after the other.
func TestDeal(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		bins  int
		want  [][]int
	}{
		{[]int{1, 5, 2, 2}, 2, [][]int{{1}, {2, 3, 0}}},
		{[]int{4, 4, 4}, 2, [][]int{{0, 2}, {1}}},
		{[]int{7}, 8, [][]int{{0}}},
		{nil, 8, [][]int{nil}},
	} {
		if got := Deal(c.sizes, c.bins); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v in %d bins: found %v; expected %v", c.sizes, c.bins, got, c.want)
		}
	}
}
