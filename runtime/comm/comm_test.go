package comm

import (
	"slices"
	"strings"
	"testing"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

func mesh(t *testing.T) *Mesh {
	t.Helper()
	m, err := NewMesh([]program.MeshAxis{{Name: "dp", Size: 2}, {Name: "one", Size: 1}, {Name: "pp", Size: 3}, {Name: "tp", Size: 2}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestGroups(t *testing.T) {
	m := mesh(t)
	for _, c := range []struct {
		axes    string
		rank    int
		members []int
		coord   int
		index   int
	}{
		{"tp", 5, []int{4, 5}, 1, 2},
		{"pp", 9, []int{7, 9, 11}, 1, 3},
		{"dp", 3, []int{3, 9}, 0, 3},
		{"dp tp", 8, []int{2, 3, 8, 9}, 2, 1},
		{"tp dp", 8, []int{2, 8, 3, 9}, 1, 1},
		{"one", 7, []int{7}, 0, 7},
		{"", 7, []int{7}, 0, 7},
		{"dp pp tp", 7, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 7, 0},
	} {
		g, err := m.Group(strings.Fields(c.axes)...)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(g.Members(c.rank), c.members) || g.Coord(c.rank) != c.coord || g.Index(c.rank) != c.index {
			t.Errorf("over %q rank %d is number %d of %v, group %d", c.axes, c.rank, g.Coord(c.rank), g.Members(c.rank), g.Index(c.rank))
		}
		if g.Count()*g.Size() != m.Size() {
			t.Errorf("over %q there are %d groups of %d", c.axes, g.Count(), g.Size())
		}
	}
}

// Two groups have the same Set exactly if all devices have the same members,
// except that 0 is also for devices alone.
func TestSets(t *testing.T) {
	m := mesh(t)
	set := func(axes ...string) int {
		g, err := m.Group(axes...)
		if err != nil {
			t.Fatal(err)
		}
		return g.Set()
	}
	if set("dp", "tp") != set("tp", "one", "dp") || set("dp", "pp", "tp") != 0 || m.World().Set() != 0 {
		t.Error("the order of axes, or an axis of size 1, makes another set")
	}
	seen := map[int]bool{}
	for _, axes := range [][]string{{}, {"dp"}, {"pp"}, {"tp"}, {"dp", "pp"}, {"dp", "tp"}, {"pp", "tp"}} {
		if seen[set(axes...)] {
			t.Errorf("the set of %v is another's", axes)
		}
		seen[set(axes...)] = true
	}
}

func TestMeshErrors(t *testing.T) {
	for want, axes := range map[string][]program.MeshAxis{
		"two axes named tp": {{Name: "tp", Size: 2}, {Name: "tp", Size: 2}},
		"has size 0":        {{Name: "tp", Size: 0}},
		"1048576 device":    {{Name: "a", Size: 1 << 11}, {Name: "b", Size: 1 << 11}},
		"at most 10":        make([]program.MeshAxis, 11),
	} {
		if _, err := NewMesh(axes); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
	if _, err := mesh(t).Group("ep"); err == nil || !strings.Contains(err.Error(), "[dp=2, one=1, pp=3, tp=2] has no axis ep") {
		t.Errorf("the error is %v", err)
	}
	if _, err := mesh(t).Group("tp", "tp"); err == nil {
		t.Error("an axis can be in a group twice")
	}
}

func TestCheck(t *testing.T) {
	m := mesh(t)
	g, err := m.Group("pp")
	if err != nil {
		t.Fatal(err)
	}
	small, large := make([]byte, 16), make([]byte, 48)
	for _, c := range []struct {
		op   Op
		want string // "": it can be
	}{
		{Op{Kind: collective.AllReduce, Group: g, Inner: 4, Src: device.Bytes(small), Dst: device.Bytes(small)}, ""},
		{Op{Kind: collective.AllReduce, Group: g, Inner: 4, Src: device.Bytes(large[:16]), Dst: device.Bytes(large[8:24])}, "overlap"},
		{Op{Kind: collective.AllReduce, Group: g, Inner: 4, Src: device.Bytes(small), Dst: device.Bytes(large)}, "Dst has 48 bytes instead of 16"},
		{Op{Kind: collective.AllReduce, Group: g, Inner: 16, DType: dtype.Bool, Src: device.Bytes(small), Dst: device.Bytes(small)}, "bool values have no sum"},
		{Op{Kind: collective.AllReduce, Inner: 4, Src: device.Bytes(small), Dst: device.Bytes(small)}, "no group"},
		{Op{Kind: collective.AllReduce, Group: g, Inner: 2, Src: device.Bytes(large[2:10]), Dst: device.Bytes(small[:8])}, "not aligned"},
		{Op{Kind: collective.ReduceScatter, Group: g, Inner: 4, Src: device.Bytes(large), Dst: device.Bytes(small)}, ""},
		{Op{Kind: collective.ReduceScatter, Group: g, Inner: 4, Src: device.Bytes(large), Dst: device.Bytes(large[16:32])}, ""}, // rank 2 is member 1
		{Op{Kind: collective.ReduceScatter, Group: g, Inner: 4, Src: device.Bytes(large), Dst: device.Bytes(large[:16])}, "overlap"},
		{Op{Kind: collective.ReduceScatter, Group: g, Outer: 2, Inner: 2, Src: device.Bytes(large), Dst: device.Bytes(large[16:32])}, "overlap"},
		{Op{Kind: collective.AllGather, Group: g, Inner: 4, Src: device.Bytes(large[16:32]), Dst: device.Bytes(large)}, ""},
		{Op{Kind: collective.AllGather, Group: g, Inner: 4, Src: device.Bytes(large[32:]), Dst: device.Bytes(large)}, "overlap"},
		{Op{Kind: collective.AllToAll, Group: g, Inner: 4, Src: device.Bytes(large), Dst: device.Bytes(make([]byte, 48)), DstOuter: 4, DstInner: 1}, ""},
		{Op{Kind: collective.AllToAll, Group: g, Inner: 4, Src: device.Bytes(large), Dst: device.Bytes(make([]byte, 48)), DstOuter: 3, DstInner: 1}, "cannot be stored"},
		{Op{Kind: collective.AllToAll, Group: g, Inner: 4, Src: device.Bytes(large), Dst: device.Bytes(large)}, "overlap"},
		{Op{Kind: collective.Permute, Group: g, Inner: 4, Src: device.Bytes(small), Dst: device.Bytes(large[:16]), From: []int{2, 0, -1}}, ""},
		{Op{Kind: collective.Permute, Group: g, Inner: 4, Src: device.Bytes(small), Dst: device.Bytes(large[:16]), From: []int{2, 0}}, "2 sources for 3 members"},
		{Op{Kind: collective.Permute, Group: g, Inner: 4, Src: device.Bytes(small), Dst: device.Bytes(large[:16]), From: []int{0, 0, 1}}, "member 0 is a source twice"},
		{Op{Kind: collective.Permute, Group: g, Inner: 4, Src: device.Bytes(small), Dst: device.Bytes(large[:16]), From: []int{0, 3, 1}}, "no member 3"},
		{Op{Kind: collective.Broadcast, Group: g, Inner: 4, Dst: device.Bytes(small)}, ""},
		{Op{Kind: collective.Broadcast, Group: g, Inner: 4, Dst: device.Bytes(small), Root: 1}, "Src has 0 bytes"},
		{Op{Kind: collective.Broadcast, Group: g, Inner: 4, Dst: device.Bytes(small), Root: 3}, "member 3, which does not exist"},
		{Op{Kind: collective.Barrier, Group: g}, ""},
		{Op{Kind: collective.Send, Inner: 4, Src: device.Bytes(small), Peer: 3}, ""},
		{Op{Kind: collective.Send, Inner: 4, Src: device.Bytes(small), Peer: 2}, "is not another device"},
		{Op{Kind: collective.Recv, Inner: 4, Dst: device.Bytes(small), Peer: 12}, "is not another device"},
		{Op{Kind: collective.Recv, Inner: 4, Dst: device.Bytes(small), Peer: 1, Tag: MaxTag}, "tag"},
		{Op{Kind: "all_scatter", Group: g}, "no such operation"},
		{Op{Kind: collective.HostToDevice, Group: g}, "no such operation"},
		{Op{Kind: collective.AllReduce, Reduce: "min", Group: g}, "no such reduction"},
		{Op{Kind: collective.Barrier, DType: dtype.Count, Group: g}, "no such dtype"},
	} {
		if c.op.DType == dtype.Invalid {
			c.op.DType = dtype.F32
		}
		err := c.op.Check(2, m.Size())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: the error is %v, want %q", c.op.Signature(), err, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	if got := RankList([]int{1, 2, 5}); got != "ranks 1, 2 and 5" {
		t.Error(got)
	}
	g, _ := mesh(t).Group("dp", "tp")
	op := Op{Kind: collective.AllReduce, Group: g, Label: "blocks.3.mlp"}
	if got := op.Describe(12); got != "all_reduce #12 blocks.3.mlp over dp, tp" {
		t.Error(got)
	}
}

func TestNoTransport(t *testing.T) {
	if _, err := Open("carrier pigeon", mesh(t), Options{}); err == nil || !strings.Contains(err.Error(), "no transport") {
		t.Errorf("the error is %v", err)
	}
}
