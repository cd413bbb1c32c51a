package emu

import "fmt"

// hold is what a register of a warp is in the products under way.
type hold struct {
	product int // its number, from 1 on; 0: none
	sum     bool
	epoch   int // the warp's when it was asked for
	name    string
}

// warpProducts is the part of a warp in those of its warpgroup.
type warpProducts struct {
	asked   int   // products
	waited  int   // of them, those that are done for the warp
	closed  []int // how many were asked for when each group was closed
	epoch   int   // how many fences there were
	held    []hold
	touched []int // by register: 1 + the epoch in which another instruction used it last
}

// resetProducts is before the first instruction of a block.
func (w *warp) resetProducts() {
	if w.b.p.products {
		w.products = warpProducts{held: make([]hold, w.b.p.slots), touched: make([]int, w.b.p.slots)}
	}
}

// hold notes that the registers of a product are its own until it is waited for. What other
// instructions did with them comes before a wgmma.fence.
func (w *warp) hold(p *product) error {
	x := &w.products
	if x.epoch == 0 {
		return fmt.Errorf("no wgmma.fence comes before the first product")
	}
	now := hold{product: x.asked + 1, epoch: x.epoch, name: p.kind.name}
	for _, slot := range p.to {
		h := x.held[slot]
		if x.touched[slot] > x.epoch {
			return fmt.Errorf("a register of its result was used after the last wgmma.fence")
		}
		if h.product != 0 && (!h.sum || h.name != now.name && h.epoch == x.epoch) {
			return fmt.Errorf("a register of its result is one of another product that is under way")
		}
		x.held[slot] = hold{now.product, true, now.epoch, now.name}
	}
	if !p.kind.registers {
		return nil
	}
	for _, slot := range p.from[2:] {
		if x.touched[slot] > x.epoch {
			return fmt.Errorf("a register of its operand was used after the last wgmma.fence")
		}
		if x.held[slot].sum {
			return fmt.Errorf("a register of its operand is the result of a product that is under way")
		}
		x.held[slot] = now
	}
	return nil
}

// touch is another instruction that uses registers.
func (w *warp) touch(in *inst) error {
	x := &w.products
	for _, slot := range in.from {
		if x.held[slot].sum {
			return fmt.Errorf("it reads the result of a product that is under way")
		}
		x.touched[slot] = x.epoch + 1
	}
	for _, slot := range in.to {
		if x.held[slot].product != 0 {
			return fmt.Errorf("it writes a register of a product that is under way")
		}
		x.touched[slot] = x.epoch + 1
	}
	return nil
}
