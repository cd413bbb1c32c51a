package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"ptc/runtime/native"
)

// report is bench/foresightown.json.
type report struct {
	CPU        string  `json:"cpu"`
	Processors int     `json:"processors"`
	Examples   []row   `json:"examples"`
	Median     float64 `json:"median_error"`
	Single     float64 `json:"median_error_one_device"`
	Layouts    []row   `json:"layouts"`
	Pairs      int     `json:"pairs_10_percent_apart"`
	Tau        float64 `json:"kendall_tau"`
}

// row is a plan with its step in milliseconds.
type row struct {
	Name      string  `json:"name"`
	Devices   int     `json:"devices"`
	Measured  float64 `json:"measured_ms"`
	Predicted float64 `json:"predicted_ms"`
	Error     float64 `json:"error"` // predicted over measured, less 1
}

// apart is by how much the measured steps of two layouts differ, if their order counts.
const apart = 1.1

func reportOf(all []*subject) (*report, error) {
	cpu := native.DescribeCPU()
	r := &report{CPU: strings.TrimSpace(cpu.Model), Processors: cpu.Cores}
	var errs, single []float64
	for _, s := range all {
		x := row{s.name, s.plan.Mesh.Ranks(), 1e3 * s.measured, 1e3 * s.predicted, s.predicted/s.measured - 1}
		if s.layouts {
			r.Layouts = append(r.Layouts, x)
			continue
		}
		r.Examples = append(r.Examples, x)
		errs = append(errs, math.Abs(x.Error))
		if s.calibrates {
			single = append(single, math.Abs(x.Error))
		}
	}
	r.Median, r.Single = median(errs), median(single)
	r.Tau, r.Pairs = tau(r.Layouts)
	return r, nil
}

func median(list []float64) float64 {
	slices.Sort(list)
	return stat.Quantile(0.5, stat.LinInterp, list, nil)
}

// tau is Kendall's τ of pairs whose measured steps are apart: the pairs in the measured order less those in the other, as a part of
// all of them.
func tau(rows []row) (t float64, pairs int) {
	sum := 0.0
	for i, a := range rows {
		for _, b := range rows[:i] {
			if max(a.Measured, b.Measured) < apart*min(a.Measured, b.Measured) {
				continue
			}
			pairs++
			sum += stat.Kendall([]float64{a.Measured, b.Measured}, []float64{a.Predicted, b.Predicted}, nil)
		}
	}
	return sum / float64(max(pairs, 1)), pairs
}

// text is the tables of the document.
func (r *report) text() string {
	var b strings.Builder
	table := func(head string, rows []row) {
		fmt.Fprintf(&b, "| %s | devices | measured | predicted | error |\n| --- | --- | --- | --- | --- |\n", head)
		for _, x := range rows {
			fmt.Fprintf(&b, "| %s | %d | %s ms | %s ms | %+.0f%% |\n", x.Name, x.Devices, digits(x.Measured), digits(x.Predicted), 100*x.Error)
		}
	}
	table("example, layout", r.Examples)
	fmt.Fprintf(&b, "\nThe median error is %.0f%%, on one device %.0f%%.\n\n", 100*r.Median, 100*r.Single)
	table("layout of `gpt`", r.Layouts)
	fmt.Fprintf(&b, "\nOf the %d pairs whose measured steps are 10%% apart, Kendall's τ is %.2f. Measured on %s, %d processors.\n", r.Pairs, r.Tau, r.CPU, r.Processors)
	return b.String()
}

func digits(ms float64) string { return strconv.FormatFloat(rounded(ms), 'f', -1, 64) }

// rounded has three digits.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	if err != nil {
		return x
	}
	return y
}

// The marks of the tables in the document.
const (
	opens  = "<!-- tables by make foresight-own -->\n"
	closes = "<!-- end of own tables -->"
)

// write writes the report, and puts its tables into the document.
func (r *report) write(file, document string) error {
	for _, rows := range [][]row{r.Examples, r.Layouts} {
		for i := range rows {
			x := &rows[i]
			x.Measured, x.Predicted, x.Error = rounded(x.Measured), rounded(x.Predicted), rounded(x.Error)
		}
	}
	r.Median, r.Single, r.Tau = rounded(r.Median), rounded(r.Single), rounded(r.Tau)
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o666); err != nil {
		return err
	}
	old, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(old, []byte(opens))
	_, after, closed := bytes.Cut(rest, []byte(closes))
	if !ok || !closed {
		return fmt.Errorf("%s has no place for the tables, between %q and %q", document, strings.TrimSpace(opens), closes)
	}
	return os.WriteFile(document, slices.Concat(before, []byte(opens), []byte(r.text()), []byte(closes), after), 0o666)
}
