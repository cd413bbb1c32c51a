package emu

import (
	"fmt"

	"ptc/backend/gpu/ptx"
)

// decodeFence is fence.proxy.async, which makes what was written so far visible to copies and products
// that run by themselves, and fence.mbarrier_init.release.cluster, which does so for barriers.
func decodeFence(_ *decoder, s *ptx.Stmt, _ []string, in *inst) error {
	if len(s.Args) != 0 {
		return fmt.Errorf("expected no operands")
	}
	switch s.Op {
	case "fence.proxy.async", "fence.proxy.async.shared::cta":
		in.run = func(w *warp, _ *inst) error {
			if s := w.b.shadow; s != nil {
				s.fence(w, w.flow.mask)
			}
			return nil
		}
	case "fence.proxy.async.global": // taken for none: who reads global memory that the launch writes needs the whole fence here
		in.run = func(*warp, *inst) error { return nil }
	case "fence.mbarrier_init.release.cluster":
		in.run = func(w *warp, _ *inst) error {
			for _, m := range w.b.shared.barriers { // each on its own
				if int(m.init.who) == w.id && m.init.mask&w.flow.mask != 0 {
					m.fenced = true
				}
			}
			return nil
		}
	default:
		return fmt.Errorf("the instruction is not known")
	}
	return nil
}
