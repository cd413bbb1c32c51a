package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
)

// mark is a run in a plot: seconds that were measured and predicted.
type mark struct{ measured, predicted float64 }

// marks pairs measurements with predictions.
func marks(measured, predicted []float64) []mark {
	out := make([]mark, len(measured))
	for i := range out {
		out[i] = mark{measured[i], predicted[i]}
	}
	return out
}

// The sizes of a plot, in pixels.
const (
	plotSide   = 360
	plotLeft   = 64
	plotTop    = 28
	plotBottom = 44
	plotRight  = 16
)

// plot draws predicted against measured times on logarithmic axes, with the diagonal and lines 10% off it. All marks are one path of
// round dots, so that thousands of them take some ten bytes each.
func plot(title string, all []mark) []byte {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range all {
		lo, hi = min(lo, p.measured, p.predicted), max(hi, p.measured, p.predicted)
	}
	lo, hi = math.Log10(lo)-0.05, math.Log10(hi)+0.05
	at := func(v float64) float64 { return (math.Log10(v) - lo) / (hi - lo) * plotSide }
	x := func(v float64) float64 { return plotLeft + at(v) }
	y := func(v float64) float64 { return plotTop + plotSide - at(v) }
	var b bytes.Buffer
	width, height := plotLeft+plotSide+plotRight, plotTop+plotSide+plotBottom
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11" fill="#333">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/><text x="%d" y="18" font-size="13">%s</text>`+"\n", width, height, plotLeft, html.EscapeString(title))
	fmt.Fprintf(&b, `<clipPath id="c"><rect x="%d" y="%d" width="%d" height="%d"/></clipPath>`+"\n", plotLeft, plotTop, plotSide, plotSide)
	fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#999"/>`+"\n", plotLeft, plotTop, plotSide, plotSide)
	for _, v := range ticks(lo, hi) {
		fmt.Fprintf(&b, `<path d="M%.1f %dv-%dM%d %.1fh%d" stroke="#ddd"/>`, x(v), plotTop+plotSide, plotSide, plotLeft, y(v), plotSide)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, x(v), plotTop+plotSide+16, seconds(v))
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", plotLeft-6, y(v)+4, seconds(v))
	}
	for _, off := range []float64{1, 0.9, 1.1} {
		dash := ""
		if off != 1 {
			dash = ` stroke-dasharray="4 3"`
		}
		from, to := math.Pow(10, lo), math.Pow(10, hi)
		fmt.Fprintf(&b, `<path clip-path="url(#c)" d="M%.1f %.1fL%.1f %.1f" stroke="#888"%s/>`+"\n", x(from), y(from*off), x(to), y(to*off), dash)
	}
	b.WriteString(`<path transform="scale(.1)" stroke="#06c" stroke-width="40" stroke-linecap="round" stroke-opacity="0.55" d="`)
	for _, p := range all {
		fmt.Fprintf(&b, "M%.0f %.0fh0", 10*x(p.measured), 10*y(p.predicted))
	}
	b.WriteString("\"/>\n")
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">measured</text>`, plotLeft+plotSide/2, height-8)
	fmt.Fprintf(&b, `<text transform="translate(14 %d) rotate(-90)" text-anchor="middle">predicted</text>`+"\n</svg>\n", plotTop+plotSide/2)
	return b.Bytes()
}

// ticks are the numbers 1, 2 and 5 times powers of ten between two logarithms; of more than three decades, the powers alone.
func ticks(lo, hi float64) (out []float64) {
	steps := []float64{1, 2, 5}
	if hi-lo > 3 {
		steps = steps[:1]
	}
	for e := math.Floor(lo); e <= hi; e++ {
		for _, s := range steps {
			if v := s * math.Pow(10, e); math.Log10(v) >= lo && math.Log10(v) <= hi {
				out = append(out, v)
			}
		}
	}
	return out
}

// seconds writes a time of one digit.
func seconds(v float64) string {
	switch {
	case v < 0.9995e-3:
		return fmt.Sprintf("%.3g us", v*1e6)
	case v < 0.9995:
		return fmt.Sprintf("%.3g ms", v*1e3)
	}
	return fmt.Sprintf("%.3g s", v)
}

// plots writes the pictures of the document into a folder.
func (r *report) plots(folder string) error {
	runs := make([]mark, len(r.SC21.Runs))
	for i, p := range r.SC21.Runs {
		runs[i] = mark{p.Measured, p.Predicted}
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for _, p := range []struct {
		file, title string
		marks       []mark
	}{
		{"foresight_sc21.svg", "Megatron-LM, 32 to 3,072 devices, nothing fitted", runs},
		{"foresight_single.svg", "Megatron-LM, one node, by folds", r.Single.marks},
		{"foresight_nccl.svg", "NCCL, all-reduce in a node, by folds", r.NCCL.marks},
	} {
		if err := os.WriteFile(filepath.Join(folder, p.file), plot(p.title, p.marks), 0o666); err != nil {
			return err
		}
	}
	return nil
}
