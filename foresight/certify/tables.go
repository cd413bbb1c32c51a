package certify

import (
	"fmt"
	"maps"
	"slices"

	"ptc/foresight/certificate"
	"ptc/internal/wide"
)

// needed are the blocks that a leaf's numbers are from. A layout that was probed had bounds before, from all tables that there are.
func (k *checker) needed(i int) []block {
	p, by := k.parts[i], k.c.Leaves[i].By
	if len(p.words) < tabled {
		return nil
	}
	all := k.blocksOf(p)
	if by == certificate.Facts {
		return nil
	}
	for n, b := range all {
		if b.by == by {
			return all[:n+1]
		}
	}
	return all
}

// tableFor is the table of a block as far as it is true of a part: of a block with more rows, nineteen twentieths of its rows' share of
// the forward and backward pass, and nothing else.
func (k *checker) tableFor(p *part, b block) *certificate.Table {
	t := k.measured[b.path()]
	if b.by != certificate.Rows {
		return t
	}
	share := func(time int64) int64 { return wide.MulDiv(time, 19*int64(p.rows), 20*int64(b.rows)) }
	return &certificate.Table{At: t.At, Illegal: t.Illegal, Forward: share(t.Forward), Backward: share(t.Backward)}
}

// tables are those of a leaf.
func (k *checker) tables(i int) (out []*certificate.Table) {
	for _, b := range k.needed(i) {
		out = append(out, k.tableFor(k.parts[i], b))
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
				k.blocks[path], leaf[path] = b.part, i
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
		own, err := k.table(said.At, k.text(k.blocks[said.At], nil))
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
