package collective

import (
	"math/rand/v2"
	"testing"
)

// Bytes by their definition: a device sends each slice of another one's that it has or reduces.
func TestBytes(t *testing.T) {
	for _, c := range []struct {
		kind                             string
		operand, n, sent, payload, after int64
	}{
		{AllReduce, 12, 4, 18, 12, 18},
		{AllReduce, 10, 3, 13, 10, 13}, // rounded down
		{ReduceScatter, 12, 4, 9, 12, 9},
		{AllGather, 12, 4, 36, 48, 36},
		{AllToAll, 12, 4, 9, 9, 9},
		{Permute, 12, 4, 12, 12, 12},
		{Send, 12, 1, 12, 12, 12},
		{Recv, 12, 1, 0, 0, 0},
		{ShardSlice, 12, 4, 0, 0, 0},
		{HostToDevice, 12, 1, 0, 0, 0},
		{"none", 12, 4, 0, 0, 0},
	} {
		sent, payload := Sent(c.kind, c.operand, c.n), Payload(c.kind, c.operand, c.n)
		if after := SentOf(c.kind, payload, c.n); sent != c.sent || payload != c.payload || after != c.after {
			t.Errorf("%s of %d over %d: sends %d, payload %d, of which %d are sent; expected %d, %d, %d",
				c.kind, c.operand, c.n, sent, payload, after, c.sent, c.payload, c.after)
		}
	}
	if got := Sent(AllGather, 1<<60, 1<<40); got < 0 {
		t.Errorf("a sum beyond 64 bits is %d", got)
	}
}

// An all-reduce is a reduce-scatter and an all-gather of its result.
func TestAllReduceIsTwo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		n := 1 + r.Int64N(64)
		bytes := n * r.Int64N(1<<40)
		if a, b := Sent(AllReduce, bytes, n), Sent(ReduceScatter, bytes, n)+Sent(AllGather, bytes/n, n); a != b {
			t.Fatalf("%d bytes over %d: %d and %d", bytes, n, a, b)
		}
	}
}

// The cheapest algorithm costs no more than any other that does the kind, and every kind that sends
// slices has one. Small tensors go in the fewest steps, large ones in the fewest bytes.
func TestCheapest(t *testing.T) {
	l := Link{Message: 1000, Sent: 1, Reduced: 1}
	all := func(string) bool { return true }
	for _, k := range Kinds(func(s *Spec) bool { return s.Reduces || s.Scatters && s.Sends || s.Gathers }) {
		a := Cheapest(Kind(k), 64, 4, l, all)
		if a == nil {
			t.Errorf("no algorithm does %s", k)
		}
	}
	if a := Cheapest(AllReduce, 64, 4, l, all); a.Name != Whole {
		t.Errorf("64 bytes go by %s", a.Name)
	}
	if a := Cheapest(AllReduce, 1<<20, 4, l, all); a.Name != TwoStep {
		t.Errorf("a megabyte goes by %s", a.Name)
	}
	if a := Cheapest(AllReduce, 64, 4, l, func(name string) bool { return name != Whole }); a.Name != TwoStep {
		t.Errorf("a transport without %s goes by %s", Whole, a.Name)
	}
	if a := Cheapest(Permute, 64, 4, l, all); a != nil {
		t.Errorf("%s does a permute", a.Name)
	}
}
