package gemm

import "ptc/backend/kernel"

// A thread is given neighbouring tasks, and does as many of them in a batch as there is room
// for what they have packed: those of a row share the left operand if a row lies
// along N, the right one if it lies along M, and whole rows share both. So tasks may be as small
// as an even share of the work wants, and threads pack as if they were large.

// batch says which tasks are done as one.
type batch struct {
	down           bool  // rows of tasks lie along M: neighbours share the right operand
	most, mostRows int64 // as kernel.Batch has them
}

// batchOf is the largest batch of tasks of part x, in rows along M if down: as many
// tiles as fit, and as many sums, where these wait.
func (c *caching) batchOf(x part, down bool) batch {
	blocksM, blocksN := c.cuts(x)
	tiles := blocksM
	if !c.inPlace {
		tiles = min(tiles, max(1, c.fitTiles/x.perBlockM))
	}
	most := blocksM * blocksN // blocks whose sums may wait at once
	if c.accumulate {
		most = max(1, c.fitSums/(c.mr*c.nr*x.perBlockM*x.perBlockN))
	}
	b := batch{down: down, most: min(blocksN, most), mostRows: 1}
	if down {
		b.most = min(tiles, most)
		if b.most == blocksM {
			b.mostRows = max(1, min(blocksN, most/blocksM))
		}
	} else if b.most == blocksN {
		b.mostRows = max(1, min(tiles, most/blocksN))
	}
	return b
}

// grid is the batch of x as a kernel has it.
func (c *caching) grid(x part) kernel.Batch {
	k := kernel.Batch{Most: x.batch.most, MostRows: x.batch.mostRows}
	k.Rows, k.Row = x.batch.turned(c.cuts(x))
	return k
}

// largest is how many tiles and panels a batch of x has at most.
func (c *caching) largest(x part) (tiles, panels int64) {
	tiles, panels = x.batch.turned(x.batch.mostRows, x.batch.most)
	return min(c.tiles, tiles*x.perBlockM), min(c.panels, panels*x.perBlockN)
}

// turned is a number along M and one along N as numbers of rows and of tasks of a row, or the reverse.
func (b batch) turned(m, n int64) (int64, int64) {
	if b.down {
		return n, m
	}
	return m, n
}

// packing estimates the time that a team packs for, as a share of the multiply-adds:
// left and right are what an element takes, and every batch packs its tiles and its
// panels. The team is given half of the tasks in equal shares, and takes 1/2n of the rest at a
// time (package llvm, Driver).
func (c *caching) packing(x part, outer, team int64, left, right float64) float64 {
	k := c.grid(x)
	n := k.Row * k.Rows * outer
	lines := 0.0
	add := func(from, to int64) {
		for from < to {
			end := k.Last(from, to)
			rows := max(1, (end-from)/k.Row)
			tiles, panels := x.batch.turned(rows, (end-from)/rows)
			lines += left*float64(tiles*x.perBlockM*c.mr) + right*float64(panels*x.perBlockN*c.nr)
			from = end
		}
	}
	share := n / (2 * team)
	for i := range team {
		add(i*share, (i+1)*share)
	}
	for from := team * share; from < n; {
		to := from + max(1, (n-from)/(2*team))
		add(from, to)
		from = to
	}
	return lines / float64(c.tiles*c.mr*c.panels*c.nr*outer)
}
