package search

import (
	"ptc/foresight/certificate"
)

// table is what a block takes.
type table struct {
	certificate.Table
}

// tableKey names what the time of a block depends on: a table holds for every choice below.
func (f *finder) tableKey(c *Choice, sharded bool) string { return f.tableChoice(c, sharded).Path() }

// tableChoice is the layout that a block's time is read from: without a pipeline, and without data parallelism unless it is
// sharded, as under zero 3, with as many microbatches as there are rows for.
func (f *finder) tableChoice(c *Choice, sharded bool) *Choice {
	t := *c
	t.DP, t.PP, t.Zero, t.Schedule, t.Chunks, t.Stages = 1, 1, 0, "", 1, nil
	if sharded {
		t.DP, t.Zero = c.DP, c.Zero
	}
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

// tableOf is the table of a choice.
func (f *finder) tableOf(c *Choice, sharded bool) (*table, error) {
	at := f.tableChoice(c, sharded)
	key := at.Path()
	if t, ok := f.tables[key]; ok {
		return t, nil
	}
	t := &table{}
	f.probes++
	var err error
	if t.Table, err = f.block(at); err != nil {
		return nil, err
	}
	t.At = key
	f.tables[key] = t
	return t, nil
}
