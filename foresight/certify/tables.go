package certify

import (
	"fmt"
	"maps"
	"slices"

	"ptc/foresight/certificate"
)

// needed are the tables that a leaf's numbers are from. A layout that was probed had bounds before, from all tables that there are.
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
