package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// run is a training run that somebody measured: the model's sizes, the layout, and the seconds of a step.
type run struct {
	name                              string
	layers, hidden, heads, seq, vocab int
	tp, dp, pp, chunks                int // chunks: stages of one device
	batch, micro                      int // sequences of a step, and of a microbatch on one device
	recompute                         bool
	profiled                          bool // the row is a sum of profiles of one block and of other parts
	seconds                           float64
}

// devices is how many devices the run had.
func (r *run) devices() int { return r.tp * r.dp * r.pp }

// microbatches is how many microbatches a device has in a step.
func (r *run) microbatches() int { return r.batch / r.dp / r.micro }

// table is a CSV file: its rows as maps from the name of the column.
func table(folder, file string) ([]map[string]string, error) {
	f, err := os.Open(filepath.Join(folder, file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("%s has no rows", file)
	}
	head := rows[0]
	head[0] = strings.TrimPrefix(head[0], "\ufeff")
	var out []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, cell := range row {
			if _, ok := m[head[i]]; !ok { // of two columns with one name, the first
				m[head[i]] = cell
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// cells reads numbers of a row; the first mistake stays in err.
type cells struct {
	row map[string]string
	err error
}

// number is the number in a column, or 0 where the cell is empty.
func (c *cells) number(column string) float64 {
	text, ok := c.row[column]
	if ok && text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(text, 64)
	if c.err == nil && (err != nil || v < 0) {
		c.err = fmt.Errorf("column %q has %q; expected a number", column, text)
	}
	return v
}

func (c *cells) whole(column string) int { return int(c.number(column)) }

// readSC21 reads the runs of table 1 of Narayanan et al. (2021).
func readSC21(folder string) ([]run, error) {
	rows, err := table(folder, "megatron_sc21.csv")
	if err != nil {
		return nil, err
	}
	var out []run
	for _, row := range rows {
		c := &cells{row: row}
		r := run{
			name: row["model"], layers: c.whole("layers"), hidden: c.whole("hidden"), heads: c.whole("heads"), seq: 2048, vocab: 51200,
			tp: c.whole("tp"), pp: c.whole("pp"), chunks: 1, batch: c.whole("global_batch"), micro: c.whole("micro_batch"), recompute: true,
		}
		if v := c.whole("layers_per_virtual_stage"); v > 0 && c.err == nil {
			r.chunks = r.layers / r.pp / v
		}
		gpus, rate := c.number("gpus"), c.number("tflops_per_gpu")
		if c.err != nil {
			return nil, fmt.Errorf("megatron_sc21.csv, %s: %w", r.name, c.err)
		}
		r.dp = int(gpus) / r.tp / r.pp
		r.seconds = sc21Operations(&r) / (gpus * rate * 1e12)
		out = append(out, r)
	}
	return out, nil
}

// sc21Operations is the number of operations by which the paper counts its rates (equation 3): with those that
// recomputation repeats.
func sc21Operations(r *run) float64 {
	b, s, l, h, v := float64(r.batch), float64(r.seq), float64(r.layers), float64(r.hidden), float64(r.vocab)
	return 96 * b * s * l * h * h * (1 + s/(6*h) + v/(16*l*h))
}

// readSingle reads vTrain's runs on one node.
func readSingle(folder string) ([]run, error) {
	const file = "vtrain_single.csv"
	rows, err := table(folder, file)
	if err != nil {
		return nil, err
	}
	var out []run
	for i, row := range rows {
		c := &cells{row: row}
		r := run{
			layers: c.whole("# layers"), hidden: c.whole("hidden size"), heads: c.whole("attention heads"), seq: c.whole("sequence length"),
			tp: c.whole("tensor parallelism"), dp: c.whole("data parallelism"), pp: c.whole("pipeline parallelism"), chunks: 1, profiled: true,
			batch: c.whole("global batch"), micro: c.whole("micro batch"), seconds: c.number("iteration time (ms)") / 1e3,
		}
		if c.err == nil && r.tp*r.dp*r.pp != c.whole("# GPUs") {
			c.err = fmt.Errorf("axes that do not multiply to the devices")
		}
		if c.err != nil {
			return nil, fmt.Errorf("%s, row %d: %w", file, i+1, c.err)
		}
		r.vocab = 50257 / r.tp * r.tp // a device has the quotient, without padding (src/model/gpt_modeling.py)
		r.name = fmt.Sprintf("%d layers of %d, tp %d, dp %d, pp %d, %d of %d", r.layers, r.hidden, r.tp, r.dp, r.pp, r.microbatches(), r.micro)
		out = append(out, r)
	}
	return out, nil
}

// point is an all-reduce that somebody measured.
type point struct {
	devices int
	bytes   int64
	seconds float64
}

// readReductions reads NCCL's all-reduces of a number of devices in one node, not in place.
func readReductions(folder string, devices int) ([]point, error) {
	file := fmt.Sprintf("nccl_allreduce_a100_%d.csv", devices)
	rows, err := table(folder, file)
	if err != nil {
		return nil, err
	}
	var out []point
	for i, row := range rows {
		c := &cells{row: row}
		p := point{devices: devices, bytes: int64(c.number("size(B)")), seconds: c.number("time(ns)") / 1e9}
		if c.err != nil {
			return nil, fmt.Errorf("%s, row %d: %w", file, i+1, c.err)
		}
		out = append(out, p)
	}
	return out, nil
}
