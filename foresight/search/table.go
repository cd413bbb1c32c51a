package search

import (
	"ptc/foresight/certificate"
	"ptc/internal/wide"
)

// source is a layout whose block is measured for the bounds of a choice.
type source struct {
	at *Choice
	by certificate.By
}

// sources are those of a choice, in the order in which they are looked at: its block with more rows and nothing rematerialized, which
// blocks of many choices are compared with; its own block; and under zero 3 that with its parameters sharded.
func (f *finder) sources(c *Choice) (out []source) {
	if f.space.Facts.Instances == 0 || f.space.fixed() {
		return nil
	}
	own := alone(c, 1, 0)
	if w := f.wider(own); w != nil {
		out = append(out, source{w, certificate.Rows})
	}
	out = append(out, source{own, certificate.OneTable})
	if c.Zero == 3 {
		out = append(out, source{alone(c, c.DP, 3), certificate.Tables})
	}
	return out
}

// alone is the layout that a block's time is read from: without a pipeline, with so many replicas and a level of zero, and with as many
// microbatches as there are rows for.
func alone(c *Choice, replicas, zero int) *Choice {
	t := *c
	t.DP, t.PP, t.Zero, t.Schedule, t.Chunks, t.Stages = replicas, 1, zero, "", 1, nil
	if c.Recompute == "auto" { // which may keep all, and takes no less time than that
		t.Recompute = "none"
	}
	t.Devices = t.DP * t.CP * t.EP * t.TP
	if t.Offload == "optimizer" {
		t.Offload = "none"
	}
	t.Depth = len(Dimensions)
	t.Order = t.axes("dp", "ep", "cp", "tp")
	return &t
}

// wider is a block with as many more rows in a microbatch, up to the usual most, as powers of two divide, and nothing rematerialized, which
// adds to the time. It is nil if that is the block itself.
func (f *finder) wider(own *Choice) *Choice {
	w := *own
	if w.Recompute == "full" {
		w.Recompute = "none"
	}
	for 2*w.Rows <= mostRows && f.space.Facts.Rows/w.EP%(2*w.Rows) == 0 {
		w.Rows *= 2
	}
	if w.Rows == own.Rows && w.Recompute == own.Recompute {
		return nil
	}
	return &w
}

// tableOf is the table of a source.
func (f *finder) tableOf(s source) (*certificate.Table, error) {
	key := s.at.Path()
	if t, ok := f.tables[key]; ok {
		return t, nil
	}
	f.probes++
	t, err := f.block(s.at)
	if err != nil {
		return nil, err
	}
	t.At = key
	f.tables[key] = &t
	return &t, nil
}

// knownFrom is what is known from a source of a choice: of more rows, its part of the forward and backward pass less a margin.
func (f *finder) knownFrom(s source, c *Choice) (certificate.Table, bool) {
	t := *f.tables[s.at.Path()]
	if s.by == certificate.Rows {
		part := func(n int64) int64 { return wide.MulDiv(n, int64(c.Rows)*(margin-1), int64(s.at.Rows)*margin) }
		t = certificate.Table{Illegal: t.Illegal, Forward: part(t.Forward), Backward: part(t.Backward)}
	}
	return t, t.Illegal == ""
}

// margin is what part of the time of more rows does not count: a twentieth. A row hardly ever takes less time among fewer rows, and then
// by less than that; but it may where the compiler divides a ring or a loss otherwise.
const margin = 20
