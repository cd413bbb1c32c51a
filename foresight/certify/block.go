package certify

import (
	"fmt"
	"strconv"
	"strings"

	"ptc/foresight/certificate"
	"ptc/ir/auto"
)

// block is a layout whose table says something of a part, and what leaves call that.
type block struct {
	*part
	by certificate.By
}

// blocksOf are the layouts that the tables of a part are of, in the order in which a search looks at them; there may be none. The
// part's own block has neither pipeline nor replicas. Before it comes the same block with more rows in a microbatch and nothing
// rematerialized, unless that is the block itself; behind it, where zero shards parameters, the block with the replicas of dp that
// they are gathered from.
func (s *space) blocksOf(p *part) (out []block) {
	if s.Instances == 0 || s.divided() {
		return nil
	}
	x := *p
	if x.recompute == "full" {
		x.recompute = "none"
	}
	for x.rows*2 <= usualRows && s.Rows/x.size[ep]%(x.rows*2) == 0 {
		x.rows *= 2
	}
	if p.rows != x.rows || p.recompute == "full" {
		out = append(out, block{s.blockOf(&x, 1, 0), certificate.Rows})
	}
	out = append(out, block{s.blockOf(p, 1, 0), certificate.OneTable})
	if p.zero == 3 {
		out = append(out, block{s.blockOf(p, p.size[dp], 3), certificate.Tables})
	}
	return out
}

// blockOf is the layout of a table: a part's choices with so many replicas and a level of zero, on as many devices as that takes,
// with the mesh axes in the order dp, ep, cp, tp. States of the optimizer are no part of a block, so it does not matter where
// they are; and `recompute auto` may keep all, so a block takes at least as long as then.
func (s *space) blockOf(p *part, replicas, zero int) *part {
	x := *p
	x.size[dp], x.size[pp], x.zero = replicas, 1, zero
	x.devices = replicas * p.size[cp] * p.size[ep] * p.size[tp]
	x.schedule, x.chunks, x.order = "", 1, nil
	if x.recompute == "auto" {
		x.recompute = "none"
	}
	if x.offload == "optimizer" {
		x.offload = "none"
	}
	var order []string
	for _, a := range []int{dp, ep, cp, tp} {
		if x.size[a] > 1 {
			x.order, order = append(x.order, a), append(order, auto.Mesh[a])
		}
	}
	x.words = []string{
		strconv.Itoa(x.devices),
		fmt.Sprintf("dp%d pp1 cp%d ep%d tp%d", x.size[dp], x.size[cp], x.size[ep], x.size[tp]),
		p.words[tensorLevel], p.words[sequenceLevel], strconv.Itoa(x.rows),
		x.recompute, strconv.Itoa(zero), x.offload, " 1", "cut", strings.Join(order, " "),
	}
	return &x
}
