package pipeline

import (
	"fmt"
	"strings"
)

// maxColumns bounds the width of a timeline.
const maxColumns = 4096

// Timeline draws the simulation with one row for each device and one column for
// each unit of time. A slot shows its label in its first column (F3: forward of
// microbatch 3; B backward, I input backward, W weight backward; F3.1: of the
// device's chunk 1) and dashes in those that follow; dots are idle:
//
//	device 0  F0 F1 .. .. B0 -- B1 --
//	device 1  .. F0 B0 -- F1 B1 -- ..
//
// A column shows what runs at its middle, so slots shorter than half a unit may
// not appear. It is an error if unit is not positive or gives more than 4096
// columns.
func (r *Result) Timeline(unit float64) (string, error) {
	if !(unit > 0) {
		return "", faultf(BadShape, "a timeline's unit must be a positive time, found %v", unit)
	}
	// Whatever ends within a part in 10^9 of a column's edge ends there.
	columns := r.Makespan / unit
	if !(columns <= maxColumns) {
		return "", faultf(BadShape, "a timeline of %g columns is wider than %d; choose a longer unit", columns, maxColumns)
	}
	n := int(columns)
	if columns-float64(n) > 1e-9*columns {
		n++
	}
	cells := make([][]string, len(r.Devices))
	width := 2
	for d, runs := range r.Devices {
		cells[d] = r.row(runs, n, unit)
		for _, c := range cells[d] {
			width = max(width, len(c))
		}
	}
	name := len(fmt.Sprintf("device %d", len(r.Devices)-1))
	var b strings.Builder
	for d, row := range cells {
		line := fmt.Sprintf("%-*s ", name, fmt.Sprintf("device %d", d))
		for _, c := range row {
			line += " " + pad(c, width)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String(), nil
}

// row returns what each of n columns shows of one device.
func (r *Result) row(runs []Run, n int, unit float64) []string {
	row := make([]string, n)
	next, shown := 0, -1
	for k := range row {
		middle := (float64(k) + 0.5) * unit
		for next < len(runs) && runs[next].End <= middle {
			next++
		}
		switch {
		case next == len(runs) || runs[next].Start > middle:
			row[k] = "."
		case shown == next:
			row[k] = "-"
		default:
			row[k] = r.Place.Label(runs[next].Slot)
			shown = next
		}
	}
	return row
}

// pad fills a label with spaces, and a dot or a dash with itself.
func pad(cell string, width int) string {
	if cell == "." || cell == "-" {
		return strings.Repeat(cell, width)
	}
	return cell + strings.Repeat(" ", width-len(cell))
}
