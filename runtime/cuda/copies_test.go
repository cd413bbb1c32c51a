package cuda

import (
	"testing"

	"ptc/internal/collective"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// TestLines: what is more than a row may have is several copies, which together are all.
func TestLines(t *testing.T) {
	dev, host := copyEnd{memory: typeDevice, device: 1 << 40}, copyEnd{memory: typeHost, host: 1 << 20}
	if got := lines(dev, host, 0); len(got) != 0 {
		t.Errorf("nothing is %d copies", len(got))
	}
	at := uintptr(0)
	got := lines(dev, host, 5*longest/2)
	for _, x := range got {
		if x.dst.device != 1<<40+uint64(at) || x.src.host != 1<<20+at || x.src.pitch < x.width || x.dst.pitch > maxPitch || x.height != 1 || x.depth != 1 {
			t.Errorf("%+v behind %d bytes", x, at)
		}
		at += x.width
	}
	if len(got) != 3 || at != 5*longest/2 {
		t.Errorf("%d copies of %d bytes", len(got), at)
	}
}

// TestOwnPart: pieces that are too far apart for one copy are one each.
func TestOwnPart(t *testing.T) {
	for _, c := range []struct {
		outer, inner  int64
		copies        int
		height, pitch uintptr
	}{
		{1, 100, 1, 1, 400}, {7, 100, 1, 7, 1200}, {2, longest / 4, 2, 1, longest}, {1, longest / 2, 2, 1, longest}, {3, longest / 2, 6, 1, longest}, {0, 5, 0, 0, 0},
	} {
		plan := &program.Plan{Mesh: []program.MeshAxis{{Name: "tp", Size: 3}}}
		d := &program.Device{Buffers: []program.Buffer{{}, {Offset: 1 << 40}}}
		m := &memories{r: &device.Request{Plan: plan, Device: d, Rank: 2}, arena: &arena{base: 1 << 44}}
		got := m.ownPart(&program.Instr{Bufs: []int{0, 1}, Comm: &program.Comm{Kind: collective.ShardSlice, Over: []string{"tp"}, DType: "f32", Outer: c.outer, Inner: c.inner}})
		if len(got) != c.copies {
			t.Errorf("%+v: %d copies", c, len(got))
			continue
		}
		var total int64
		for i, x := range got {
			row := total / (4 * c.inner)
			src := uint64(1<<44 + 4*c.inner*(3*row+2) + total%(4*c.inner))
			if x.height != c.height || x.src.pitch != c.pitch || x.src.device != src || x.dst.device != uint64(1<<44+1<<40+total) {
				t.Errorf("%+v: copy %d is %+v", c, i, x)
			}
			total += int64(x.width * x.height)
		}
		if total != 4*c.outer*c.inner {
			t.Errorf("%+v: %d bytes", c, total)
		}
	}
}
