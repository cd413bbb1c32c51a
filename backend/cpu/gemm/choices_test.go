package gemm

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"ptc/backend/kernel"
)

// TestChoices interprets random products, cut in each way that is listed: all give the
// same bits. The first way is that of a product which is not told how.
func TestChoices(t *testing.T) {
	for name, m := range machines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(7, 11))
			ways := 0
			for i := range 8 {
				c := random(r, 40)
				if i%2 == 0 {
					c.k += 60 + r.Int64N(90)
				}
				list, err := Choices(c.spec("gemm"), m)
				if err != nil {
					t.Fatal(err)
				}
				own, want := text(t, c, m), interpret(t, name, c, m)
				for j, b := range list {
					c.blocks = &b
					if got := interpret(t, name+", "+b.String(), c, m); !bytes.Equal(got, want) {
						t.Errorf("%v: %s gives other bits", c, b)
					}
					if got := text(t, c, m); j == 0 && got != own {
						t.Errorf("%v: its own blocks, %s, give another kernel", c, b)
					}
				}
				ways += len(list)
			}
			if ways < 20 {
				t.Errorf("found %d ways to cut 8 products; expected more", ways)
			}
		})
	}
}

func text(t *testing.T, c matmul, m kernel.Machine) string {
	t.Helper()
	k, err := c.generate("gemm", m)
	if err != nil {
		t.Fatal(err)
	}
	return k.String()
}

// TestBlocks gives blocks at random: each is refused, or its kernel is right.
func TestBlocks(t *testing.T) {
	for name, m := range machines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(13, 17))
			taken := 0
			for range 120 {
				c := random(r, 40)
				lanes := int64(m.Lanes(kernel.F32))
				size := func() int64 { return 1 << r.Int64N(8) }
				c.blocks = &Blocks{TileRows: 1 + r.Int64N(8), TileCols: lanes * (1 + r.Int64N(3)), Depth: 8 * size(), Rows: size(), Cols: size()}
				if _, err := c.generate("gemm", m); err == nil {
					interpret(t, name+", "+c.blocks.String(), c, m)
					taken++
				}
			}
			if taken < 10 {
				t.Errorf("found %d of 120 blocks taken; expected more", taken)
			}
		})
	}
}

// TestRefusedBlocks holds the texts of errors.
func TestRefusedBlocks(t *testing.T) {
	m := machines["256"]
	c := matmul{m: 300, n: 200, k: 100, left: AlongM, right: AlongK, stride: 1, elem: kernel.F32}
	good, err := Choices(c.spec("gemm"), m)
	if err != nil || len(good) < 8 {
		t.Fatalf("found %d ways, %v; expected at least 8", len(good), err)
	}
	for want, spoil := range map[string]func(b *Blocks){
		"expected sizes from 1":                 func(b *Blocks) { b.Rows = 0 },
		"to 1099511627776":                      func(b *Blocks) { b.Cols = 1 << 41 },
		"a multiple of the 8 of a vector":       func(b *Blocks) { b.TileCols = 12 },
		"which take 35 registers; expected":     func(b *Blocks) { b.TileRows, b.TileCols = 16, 16 },
		"at most 16 rows":                       func(b *Blocks) { b.TileRows, b.TileCols = 40, 8 },
		"17 along K; expected a multiple of 16": func(b *Blocks) { b.Depth = 17 },
	} {
		b := good[0]
		spoil(&b)
		c.blocks = &b
		if _, err := c.generate("gemm", m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found error %v; expected %q", b, err, want)
		}
	}
	large := matmul{m: 8192, n: 8192, k: 4096, left: AlongM, right: AlongK, stride: 1, elem: kernel.F32, blocks: &Blocks{TileRows: 6, TileCols: 16, Depth: 256, Rows: 8192, Cols: 8192}}
	if _, err := large.generate("gemm", m); err == nil || !strings.Contains(err.Error(), "tasks of 8192x8192, which keep") {
		t.Errorf("found error %v; expected one of what tasks keep", err)
	}
}
