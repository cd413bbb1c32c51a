package certify

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ptc/foresight/certificate"
	"ptc/foresight/sim"
	"ptc/ir/auto"
	"ptc/runtime/program"
)

// blocksOf are the layouts that the tables of a part are of; there may be none. The first one has neither pipeline nor replicas; the second
// one, where zero shards parameters, has the replicas of dp that they are gathered from. Either has at least two microbatches, one after the other.
func (k *checker) blocksOf(p *part) (out []*part) {
	if k.Instances == 0 || k.divided() {
		return nil
	}
	alone := k.blockOf(p, 1, 0)
	if alone == nil {
		return nil
	}
	out = append(out, alone)
	if p.zero == 3 {
		if sharded := k.blockOf(p, p.size[dp], 3); sharded != nil {
			out = append(out, sharded)
		}
	}
	return out
}

// blockOf is the layout of a table: a part's choices with so many replicas and a level of zero, on as many devices as that takes, with the
// mesh axes in the order dp, ep, cp, tp. States of the optimizer are no part of a block, so it does not matter where they are; and what
// `recompute auto` keeps is not known, so a block takes at least as long as if it kept all. It is nil if there would be one microbatch.
func (k *checker) blockOf(p *part, replicas, zero int) *part {
	x := *p
	x.size[dp], x.size[pp], x.zero = replicas, 1, zero
	x.devices = replicas * p.size[cp] * p.size[ep] * p.size[tp]
	x.schedule, x.chunks, x.order = "", 1, nil
	if k.microbatches(&x) < 2 {
		return nil
	}
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
		p.words[tensorLevel], p.words[sequenceLevel], p.words[rowsLevel],
		x.recompute, strconv.Itoa(zero), x.offload, " 1", "cut", strings.Join(order, " "),
	}
	return &x
}

// needed are the tables that a leaf's numbers are from. A layout that was probed was a part with bounds before, from all tables there are.
func (k *checker) needed(i int) []*part {
	p := k.parts[i]
	if len(p.words) < tabled {
		return nil
	}
	all := k.blocksOf(p)
	if n, ok := tablesOf[k.c.Leaves[i].By]; ok {
		return all[:n]
	}
	return all
}

// tables are those of a leaf.
func (k *checker) tables(i int) (out []*certificate.Table) {
	for _, b := range k.needed(i) {
		out = append(out, k.measured[b.path()])
	}
	return out
}

// listed checks that the certificate has the tables that its leaves need, sorted by their paths, and no others.
func (k *checker) listed() error {
	k.blocks = map[string]*part{}
	leaf := map[string]int{} // the first one that needs a table
	for i := range k.c.Leaves {
		for _, b := range k.needed(i) {
			if path := b.path(); k.blocks[path] == nil {
				k.blocks[path], leaf[path] = b, i
			}
		}
		if k.c.Leaves[i].By == certificate.Probe {
			k.all++
		}
		if k.near(i) {
			k.all++
		}
	}
	want := slices.Sorted(maps.Keys(k.blocks))
	k.all += len(want)
	for i := range k.c.Tables {
		at := k.c.Tables[i].At
		switch {
		case i > 0 && at == k.c.Tables[i-1].At:
			return k.tableFault(i, "the table is there twice")
		case k.blocks[at] == nil:
			return k.tableFault(i, "no leaf needs this table")
		case i > 0 && at < k.c.Tables[i-1].At:
			return k.tableFault(i, "tables are sorted by their paths; this one comes before tables[%d]", i-1)
		case at != want[i]:
			return fault(Tables, "the table `%s` is missing, which leaves[%d] needs", want[i], leaf[want[i]])
		}
	}
	if n := len(k.c.Tables); n < len(want) {
		return fault(Tables, "the table `%s` is missing, which leaves[%d] needs", want[n], leaf[want[n]])
	}
	return nil
}

// measure probes each table, and checks that the certificate has its numbers.
func (k *checker) measure() error {
	for i := range k.c.Tables {
		said := &k.c.Tables[i]
		own, err := k.table(k.blocks[said.At])
		if err != nil {
			return fmt.Errorf("tables[%d], `%s`: %w", i, said.At, err)
		}
		k.measured[said.At] = &own
		if said.Illegal != own.Illegal {
			return k.tableFault(i, "illegal is %q; the verifier's probe says %q", said.Illegal, own.Illegal)
		}
		for _, x := range []struct {
			field     string
			said, own int64
		}{
			{"forward", said.Forward, own.Forward}, {"backward", said.Backward, own.Backward}, {"exchanges", said.Exchanges, own.Exchanges},
			{"ends", said.Ends, own.Ends}, {"kept", said.Kept, own.Kept}, {"shared", said.Shared, own.Shared},
		} {
			if x.said != x.own {
				return k.tableFault(i, "%s is %d; by the verifier's probe it is %d", x.field, x.said, x.own)
			}
		}
		k.verdict.Tables++
		k.step()
	}
	return nil
}

// table is what a block takes in a layout, by a probe.
func (k *checker) table(p *part) (t certificate.Table, err error) {
	k.verdict.Probes++
	text := k.text(p, nil)
	if t, ok := k.known.tables[text]; ok {
		return t, nil
	}
	t.At = p.path()
	plan, code, err := k.given.Probe(text)
	switch {
	case code != "":
		t.Illegal, err = code, nil
	case err == nil:
		err = k.block(plan, &t)
	}
	if err == nil {
		k.known.tables[text] = t
	}
	return t, err
}

// block reads a block from a plan.
func (k *checker) block(plan *program.Plan, t *certificate.Table) error {
	work, err := k.work(plan)
	if err != nil {
		return err
	}
	b, err := sim.BlockOf(plan, work, k.model, k.Batch)
	if err != nil {
		return err
	}
	t.Forward, t.Backward, t.Exchanges, t.Ends = int64(b.Forward), int64(b.Backward), int64(b.Exchanges), int64(b.Ends)
	t.Kept, t.Shared = b.Kept, b.Shared
	return nil
}
