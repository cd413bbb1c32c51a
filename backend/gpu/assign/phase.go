package assign

import (
	"fmt"

	"ptc/backend/gpu/layout"
	"ptc/backend/tile"
)

// Phase is what is decided about a phase.
type Phase struct {
	*chosen
	Program    *tile.Program
	Tile       *tile.Phase
	Loops      map[*tile.Op]*Loop
	Reductions map[*tile.Op]*Reduction
	Stores     map[*tile.Op]*Stores // by the last of those that follow each other
	Special    *Pipeline            // the loop of a phase of specialized warps, or nil
	Cluster    *Cluster             // or nil
}

// Of decides about ph, a phase of p, for blocks of so many threads. Args are which of the kernel's arguments each buffer
// is, several where sections share code; its tensor maps are added to maps. A section's tasks are a block of threads each;
// a kernel's may be shared in another way.
func Of(p *tile.Program, ph *tile.Phase, t layout.Threads, args map[*tile.Buffer][]int, maps *Maps, section bool) (*Phase, error) {
	tiles := &Tiles{Threads: t, least: map[*tile.Range]int{}, along: reduced(ph.Body)}
	dots := &products{Tiles: tiles, dot: p.Schedule.Dot, folds: folds(ph.Body), made: map[*tile.Op]*Product{}}
	dots.pad(ph.Body)
	out := &Phase{chosen: &chosen{Tiles: tiles, products: dots, own: map[*tile.Value]*layout.Layout{}, args: args, maps: maps},
		Program: p, Tile: ph, Loops: map[*tile.Op]*Loop{}, Reductions: map[*tile.Op]*Reduction{}, Stores: map[*tile.Op]*Stores{}}
	if err := out.decide(section); err != nil {
		return nil, fmt.Errorf("tile %s: %w", p.Name, err)
	}
	return out, nil
}

func (p *Phase) decide(section bool) (err error) {
	if !section {
		if p.Special, err = p.specialize(p.Program, p.Tile); err != nil {
			return err
		}
	}
	if !section && p.Special == nil {
		if p.Cluster, err = cluster(p.Program, p.Tile.Body); err != nil {
			return err
		}
	}
	if x := p.Cluster; x != nil {
		if err := p.enter(x.Loop); err != nil {
			return err
		}
		return p.block(x.Rest)
	}
	return p.block(p.Tile.Body)
}

// block decides about a block of code, in the order of lowering. Stores that follow each other are one effect.
func (p *Phase) block(body *tile.Block) error {
	var stores []*tile.Op
	flush := func() {
		if len(stores) > 0 {
			p.Stores[stores[len(stores)-1]] = p.stores(stores)
		}
		stores = nil
	}
	for _, o := range body.Ops {
		switch {
		case o.Kind == tile.Store:
			stores = append(stores, o)
		case Effect(o.Kind):
			flush()
			if err := p.effect(o); err != nil {
				return err
			}
		case !demanded(o.Kind):
			return fmt.Errorf("found %s; it has no code for GPUs", o.Kind)
		}
	}
	flush()
	return nil
}

func (p *Phase) effect(o *tile.Op) error {
	switch o.Kind {
	case tile.Wait:
		return nil
	case tile.Scatter:
		return once(o)
	case tile.Dot:
		return p.dot(p.products.of(o))
	case tile.For:
		return p.enter(o)
	case tile.If:
		at := p.layouts(o.Results)
		if err := p.block(o.Then); err != nil {
			return err
		}
		if err := p.block(o.Else); err != nil {
			return err
		}
		p.hold(o.Results, at)
		return nil
	}
	x, err := p.reduction(o)
	if err == nil {
		p.Reductions[o] = x
		p.own[o.Result()] = x.Out
	}
	return err
}

// enter decides about a loop, and what is in it.
func (p *Phase) enter(o *tile.Op) error {
	var known *Pipeline
	if p.Special != nil && p.Special.Op == o {
		known = p.Special
	}
	x, err := p.loop(o, known)
	if err != nil {
		return err
	}
	p.Loops[o] = x
	p.hold(o.Loop.Carry, x.Carried)
	if err := p.block(o.Loop.Body); err != nil {
		return err
	}
	p.hold(o.Results, x.Carried)
	return nil
}
