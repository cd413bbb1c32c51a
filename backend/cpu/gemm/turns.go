package gemm

import "ptc/backend/kernel"

// A thread is given neighbouring tasks, and does as many of them at once as there is room
// for what they have packed: those of a row share the left operand if a row lies
// along N, the right one if it lies along M, and whole rows share both. So tasks may be as small
// as an even share of the work wants, and threads pack as if they were large.

// turns says which tasks are done at once.
type turns struct {
	down           bool  // rows of tasks lie along M: neighbours share the right operand
	most, mostRows int64 // as those of kernel.Together
}

// turnsOf is what may be done at once of tasks of part x, in rows along M if down: as many
// tiles as fit, and as many sums, where these wait.
func (p *blocking) turnsOf(x part, down bool) turns {
	blocksM, blocksN := ceil(p.tiles, x.tiles), ceil(p.panels, x.panels)
	tiles := blocksM
	if !p.inPlace {
		tiles = min(tiles, max(1, p.fitTiles/x.tiles))
	}
	most := blocksM * blocksN // blocks whose sums may wait at once
	if p.accumulate {
		most = max(1, p.fitSums/(p.mr*p.nr*x.tiles*x.panels))
	}
	t := turns{down: down, most: min(blocksN, most), mostRows: 1}
	if down {
		t.most = min(tiles, most)
		if t.most == blocksM {
			t.mostRows = max(1, min(blocksN, most/blocksM))
		}
	} else if t.most == blocksN {
		t.mostRows = max(1, min(tiles, most/blocksN))
	}
	return t
}

// grid is t of tasks of part x as a kernel has it.
func (p *blocking) grid(x part, t turns) kernel.Together {
	k := kernel.Together{Row: ceil(p.panels, x.panels), Rows: ceil(p.tiles, x.tiles), Most: t.most, MostRows: t.mostRows}
	if t.down {
		k.Row, k.Rows = k.Rows, k.Row
	}
	return k
}

// largest is how many tiles and panels a turn has at most.
func (p *blocking) largest(x part, t turns) (tiles, panels int64) {
	tiles, panels = t.mostRows, t.most
	if t.down {
		tiles, panels = panels, tiles
	}
	return min(p.tiles, tiles*x.tiles), min(p.panels, panels*x.panels)
}

// packing estimates the time that a team packs for, as a share of the multiply-adds:
// left and right are what an element takes, and every turn packs its tiles and its
// panels. The team is given half of the tasks in equal shares, and takes 1/2n of the rest at a
// time (package llvm, Driver).
func (p *blocking) packing(x part, t turns, team int64, left, right float64) float64 {
	k := p.grid(x, t)
	n := k.Row * k.Rows * p.outer
	lines := 0.0
	add := func(from, to int64) {
		for from < to {
			end := k.Last(from, to)
			rows := max(1, (end-from)/k.Row)
			tiles, panels := rows, (end-from)/rows
			if t.down {
				tiles, panels = panels, tiles
			}
			lines += left*float64(tiles*x.tiles*p.mr) + right*float64(panels*x.panels*p.nr)
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
	return lines / float64(p.tiles*p.mr*p.panels*p.nr*p.outer)
}
