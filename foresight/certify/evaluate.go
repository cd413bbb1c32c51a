package certify

import (
	"errors"

	"ptc/foresight/certificate"
)

// layout is a leaf that has all choices, as the text of a block. Where its pipeline has several stages, the table of its block says
// how many blocks each one has; without a table, a backward pass counts as two forward passes.
func (k *checker) layout(i int) string {
	p := k.parts[i]
	if p.size[pp] == 1 || k.divided() {
		return k.text(p, nil)
	}
	t := &certificate.Table{Forward: 1, Backward: 2}
	for _, b := range k.needed(i) {
		if own := k.measured[b.path()]; b.by == certificate.OneTable && own.Illegal == "" {
			t = own
		}
	}
	f := k.flow(p, p.schedule, p.chunks)
	if f == nil {
		return k.text(p, nil)
	}
	return k.text(p, k.cut(f, int64(k.microbatches(p)), t))
}

// evaluated probes each leaf that is a layout, and checks that the certificate says the same of it; and that no layout takes less
// than its bound.
func (k *checker) evaluated() error {
	below := false
	for i := range k.c.Leaves {
		l := &k.c.Leaves[i]
		if l.By != certificate.Probe {
			continue
		}
		own, err := k.taken(k.layout(i))
		if err != nil {
			return k.leafError(i, err)
		}
		if err := k.agrees(i, &own); err != nil {
			return err
		}
		less, err := k.admits(i)
		if err != nil {
			return err
		}
		below = below || less
		k.step()
	}
	if k.c.Slack != whole && !below {
		return fault(Probes, "slack is %d; it must be %d, since no layout that was probed takes less than its bound", k.c.Slack, whole)
	}
	return nil
}

// agrees checks a leaf that was probed.
func (k *checker) agrees(i int, own *certificate.Leaf) error {
	switch l := &k.c.Leaves[i]; {
	case l.Why != own.Why:
		return k.leafFault(Probes, i, "the reason is %s; by the verifier's probe it is %s", l.Why, own.Why)
	case l.Code != own.Code:
		return k.leafFault(Probes, i, "code is %s; the compiler says %s", l.Code, own.Code)
	case l.Bytes != own.Bytes:
		return k.leafFault(Probes, i, "bytes is %d; by the verifier's probe it is %d", l.Bytes, own.Bytes)
	case l.PS != own.PS:
		return k.leafFault(Probes, i, "ps is %d; by the verifier's simulation it is %d", l.PS, own.PS)
	}
	return nil
}

// admits checks that a layout takes no less than its bound. It reports whether it would without slack.
func (k *checker) admits(i int) (below bool, err error) {
	l := &k.c.Leaves[i]
	if l.Why == certificate.Illegal {
		return false, nil
	}
	takes := func(x least) bool { return (l.Why == certificate.Over || l.PS >= x.time) && l.Bytes >= x.bytes }
	if x := k.bound(k.parts[i], k.c.Slack, k.tables(i)...); !takes(x) {
		return false, k.leafFault(Probes, i, "the layout takes %d ps and %d bytes, less than its bound of %d ps and %d bytes: with a slack of %d, bounds are too high",
			l.PS, l.Bytes, x.time, x.bytes, k.c.Slack)
	}
	return !takes(k.bound(k.parts[i], whole, k.tables(i)...)), nil
}

// full compiles the winner and the layouts near it in full, and checks that they take what their leaves say.
func (k *checker) full() error {
	for i := range k.c.Leaves {
		if !k.near(i) {
			continue
		}
		l, text := &k.c.Leaves[i], k.layout(i)
		own, err := k.compiled(text)
		var no *refusal
		switch {
		case errors.As(err, &no):
			return k.leafFault(Full, i, "a probe compiles the layout, but a full compilation does not: %v", no.error)
		case err != nil:
			return k.leafError(i, err)
		case own.Bytes != l.Bytes:
			return k.leafFault(Full, i, "bytes is %d; compiled in full, the layout takes %d", l.Bytes, own.Bytes)
		case own.PS != l.PS:
			return k.leafFault(Full, i, "ps is %d; compiled in full, the layout takes %d", l.PS, own.PS)
		}
		if i == k.c.Winner {
			k.verdict.Winner, k.verdict.Layout = l, text
		}
		k.step()
	}
	return nil
}
