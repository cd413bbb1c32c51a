package report

import (
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"ptc/internal/units"
	"ptc/runtime/explain"
	"ptc/runtime/program"
	"ptc/runtime/timeline"
)

// view is what the template shows: the document, and tables of it.
type view struct {
	Plan     *Document
	Policy   template.HTMLAttr
	Style    template.CSS
	Script   template.JS
	Data     *Document // as JSON
	Compared *comparison
	Search   *found

	Verdict   []sentence
	Figures   []Figure
	Sections  []section
	Map       *Map
	MapDevice string
	Spaces    []spaceBytes
	Largest   []valueRow
	Timeline  *timeline.Timeline // nil where there is a timing
	Forecast  *Forecast
	Timing    *Timing
	Measured  *Measured
	Rows      []deviceRow
	Kernels   []kernelRow
	Traffic   []trafficRow
	Remarks   []passRemarks
	Files     []file

	number map[string]int // of files, by name
}

type (
	sentence struct{ Class, Lead, Figure, Rest string }
	section  struct{ ID, Title string }

	spaceBytes struct {
		Space program.Space
		Bytes int64
	}
	// valueRow is a group with what made it.
	valueRow struct {
		Group
		Site
	}
	deviceRow struct {
		Device            string
		Slots, Begin, End int
		Idle              float64
	}
	kernelRow struct {
		explain.Kernel
		Index     int // in the document
		Share     float64
		Intensity string
		Measured  *MeasuredKernel // nil: it did not run, or nothing was measured
	}
	trafficRow struct {
		Axis, Kind     string
		Count          int
		Bytes          int64
		Overlap, Share float64
	}
	passRemarks struct {
		Pass string
		List []explain.Remark
	}
	file struct {
		Name  string
		Lines []string
		Open  bool
	}
)

// spaces are the kinds of values in the order in which they are shown.
var spaces = []program.Space{program.Params, program.Grads, program.Optimizer, program.Activations, program.Scratch, program.Inputs}

func newView(d *Document) *view {
	v := &view{Plan: d, Map: d.Report.Memory, Timeline: d.Report.Timeline, Measured: d.Report.Measured, number: map[string]int{}}
	for i, t := range d.Report.Texts {
		v.number[t.Name] = i
		v.Files = append(v.Files, file{t.Name, strings.Split(strings.TrimSuffix(t.Text, "\n"), "\n"), i == 0})
	}
	if s := d.Report.Search; s != nil {
		v.Search = newFound(s)
		v.Sections = append(v.Sections, section{"search", "Best layout"})
	}
	if v.Forecast = d.Report.Forecast; v.Forecast != nil {
		v.Timing = v.Forecast.Timing
		v.Sections = append(v.Sections, section{"forecast", "Forecast"})
	}
	v.verdict()
	v.figures()
	v.Sections = append(v.Sections, section{"memory", "Memory"})
	if v.Timeline != nil || v.Timing != nil {
		v.Sections = append(v.Sections, section{"pipeline", "Pipeline"})
	}
	v.Sections = append(v.Sections, section{"mesh", "Mesh"})
	if v.Measured != nil {
		v.Sections = append(v.Sections, section{"measured", "Measured"})
	}
	v.Sections = append(v.Sections, section{"kernels", "Kernels"}, section{"communication", "Communication"},
		section{"remarks", "Remarks"}, section{"source", "Source"})
	v.memory()
	v.timeline()
	v.kernels()
	v.Traffic = traffic(d.Collectives)
	for _, r := range d.Remarks {
		if n := len(v.Remarks); n == 0 || v.Remarks[n-1].Pass != r.Pass {
			v.Remarks = append(v.Remarks, passRemarks{Pass: r.Pass})
		}
		last := &v.Remarks[len(v.Remarks)-1]
		last.List = append(last.List, r)
	}
	return v
}

// Class names a class of devices, for the page.
func (v *view) Class(n int) string { return v.Plan.ClassText(n) }

func (v *view) verdict() {
	d, x := v.Plan, v.Plan.Report.Verdict
	switch {
	case x.Device == 0:
		v.Verdict = append(v.Verdict, sentence{"", "Needs", units.Bytes(x.Arena), "on a device."})
	case x.Fits:
		v.Verdict = append(v.Verdict, sentence{"good", "Fits:", units.Bytes(x.Arena), "of " + units.Bytes(x.Device) + " on a device."})
	default:
		v.Verdict = append(v.Verdict, sentence{"bad", "Does not fit:", units.Bytes(x.Arena), "of " + units.Bytes(x.Device) + " on a device."})
	}
	if x.Idle > 0 {
		rest := "of a step."
		if v.Timing != nil {
			rest = "of a step, if all stages take the same time."
		}
		v.Verdict = append(v.Verdict, sentence{"", "The pipeline is idle for", percent(x.Idle), rest})
	}
	if x.Sends > 0 {
		v.Verdict = append(v.Verdict, sentence{"", "A device exchanges", units.Bytes(x.Sends), "a step, in " + units.Plural(d.Sends.Count, "operation") + "."})
	}
	work := "in " + units.Plural(d.LaunchesPerStep, "launch")
	if d.Devices > 1 {
		work = "on all devices, at most " + units.Plural(d.LaunchesPerStep, "launch") + " on one,"
	}
	v.Verdict = append(v.Verdict, sentence{"", "", units.Count(d.FlopsPerStep, "FLOP"), work + " of " + units.Plural(len(d.Kernels), "kernel") + "."})
	if r := d.Roofline; r != nil {
		v.Verdict = append(v.Verdict, sentence{"", "At least", milliseconds(r.StepMs), "on " + r.Device + "."})
	}
	if f := v.Forecast; f != nil {
		if !f.Fits {
			v.Verdict = append(v.Verdict, sentence{"bad", "Does not fit on " + f.Machine + ":", f.Memory, "on a device."})
		}
		v.Verdict = append(v.Verdict, sentence{"", "Predicted:", f.Step, "a step on " + f.Machine + "."})
	}
	if m := v.Measured; m != nil {
		v.Verdict = append(v.Verdict, sentence{"", "Measured:", milliseconds(m.stepMs()), "a step" + shareOf(d.Roofline, m.stepMs()) + "."})
	}
}

func (v *view) figures() {
	d := v.Plan
	add := func(name, value string) { v.Figures = append(v.Figures, Figure{name, value}) }
	add("parameters", units.Count(d.Parameters.Elements, ""))
	if d.TokensPerStep > 0 {
		add("tokens a step", units.Count(d.TokensPerStep, ""))
	}
	add("operations before fusion", fmt.Sprint(d.OpsBeforeFusion))
	if v.Map != nil {
		add("live at the peak", units.Bytes(v.Map.Peak.Bytes))
		add("instructions a step", fmt.Sprint(v.Map.Instructions))
	}
	if n := slices.Max(append([]int64{0}, d.Memory.Host...)); n > 0 {
		add("in host memory", units.Bytes(n))
	}
	if n := slices.Max(append([]int64{0}, d.Memory.Disk...)); n > 0 {
		add("on disk", units.Bytes(n))
	}
	if v.Timeline != nil {
		add("microbatches", fmt.Sprint(v.Timeline.Microbatches))
	}
}

// rowsOfValues is how many of the largest groups the table has.
const rowsOfValues = 40

func (v *view) memory() {
	m := v.Map
	if m == nil {
		return
	}
	v.MapDevice = "a device"
	if len(v.Plan.Report.Classes) > 1 {
		var at []string
		for _, a := range v.Plan.Report.Mesh {
			if n, ok := v.Plan.Report.Classes[m.Class].At[a.Name]; ok {
				at = append(at, fmt.Sprintf("%s = %d", a.Name, n))
			}
		}
		v.MapDevice = "the devices that need most"
		if len(at) > 0 {
			v.MapDevice = "devices with " + strings.Join(at, ", ")
		}
	}
	for _, s := range spaces {
		if n := v.Plan.Memory.Arena[s]; n > 0 {
			v.Spaces = append(v.Spaces, spaceBytes{s, n})
		}
	}
	for _, g := range m.Groups {
		v.Largest = append(v.Largest, valueRow{g, m.Sites[g.Site]})
	}
	slices.SortStableFunc(v.Largest, func(a, b valueRow) int {
		return int(sign(float64(b.Bytes)*float64(b.Count) - float64(a.Bytes)*float64(a.Count)))
	})
	v.Largest = v.Largest[:min(len(v.Largest), rowsOfValues)]
}

func sign(x float64) float64 {
	switch {
	case x < 0:
		return -1
	case x > 0:
		return 1
	}
	return 0
}

func (v *view) timeline() {
	if v.Timeline == nil {
		return
	}
	for _, r := range v.Timeline.Rows {
		x := deviceRow{Device: r.Device, Slots: len(r.Slots)}
		busy := 0
		for i, s := range r.Slots {
			if i == 0 {
				x.Begin = s[2]
			}
			x.End = s[3]
			busy += s[3] - s[2]
		}
		if v.Timeline.End > 0 {
			x.Idle = 1 - float64(busy)/float64(v.Timeline.End)
		}
		v.Rows = append(v.Rows, x)
	}
}

// kernels are those of a step, by their share of the time that was measured, else of the
// least time, or of the bytes.
func (v *view) kernels() {
	measured := map[int]*MeasuredKernel{}
	if v.Measured != nil {
		for i := range v.Measured.Kernels {
			measured[v.Measured.Kernels[i].Kernel] = &v.Measured.Kernels[i]
		}
	}
	weigh := func(i int, k *explain.Kernel) float64 {
		switch m := measured[i]; {
		case m != nil:
			return m.Ms
		case v.Measured != nil:
			return 0
		case v.Plan.Roofline != nil:
			return k.LeastMs * float64(k.Launches)
		}
		return float64(k.Bytes) * float64(k.Launches)
	}
	total := 0.0
	for i := range v.Plan.Kernels {
		k := &v.Plan.Kernels[i]
		if total += weigh(i, k); k.Launches == 0 {
			continue
		}
		x := kernelRow{Kernel: *k, Index: i, Share: weigh(i, k), Measured: measured[i]}
		if k.Bytes > 0 {
			x.Intensity = fmt.Sprintf("%.3g", float64(k.Flops)/float64(k.Bytes))
		}
		v.Kernels = append(v.Kernels, x)
	}
	for i := range v.Kernels {
		if total > 0 {
			v.Kernels[i].Share /= total
		}
	}
	slices.SortStableFunc(v.Kernels, func(a, b kernelRow) int { return int(sign(b.Share - a.Share)) })
}

// traffic adds up communications of one kind over the same axes, the most bytes first.
func traffic(list []explain.Collective) (out []trafficRow) {
	all, number, overlapped := 0.0, map[[2]string]int{}, []float64{}
	for _, c := range list {
		k := [2]string{c.Axis, c.Kind}
		n, ok := number[k]
		if !ok {
			n = len(out)
			number[k] = n
			out, overlapped = append(out, trafficRow{Axis: c.Axis, Kind: c.Kind}), append(overlapped, 0)
		}
		bytes := float64(c.Bytes) * float64(c.Count)
		out[n].Count += c.Count
		out[n].Bytes += int64(bytes)
		if all += bytes; c.Started {
			overlapped[n] += bytes
		}
	}
	for i := range out {
		if b := float64(out[i].Bytes); b > 0 {
			out[i].Overlap, out[i].Share = min(1, overlapped[i]/b), b/all
		}
	}
	slices.SortStableFunc(out, func(a, b trafficRow) int { return int(sign(float64(b.Bytes - a.Bytes))) })
	return out
}

// ref is a piece of text; of a place in the source, its element and its line.
type ref struct{ ID, Line, Text string }

var places = regexp.MustCompile(`[\w./-]+\.ptl:\d+:\d+`)

// place is where a source is shown: nil for none, text alone where the plan has no such file.
func (v *view) place(source string) *ref {
	if source == "" {
		return nil
	}
	name, rest, _ := strings.Cut(source, ":")
	line, _, _ := strings.Cut(rest, ":")
	n, ok := v.number[name]
	if !ok {
		return &ref{ID: "source", Text: source}
	}
	return &ref{ID: fmt.Sprintf("s%d-%s", n, line), Line: name + ":" + line, Text: source}
}

// words are a text with the places in it.
func (v *view) words(text string) (out []ref) {
	for {
		at := places.FindStringIndex(text)
		if at == nil {
			return append(out, ref{Text: text})
		}
		out = append(out, ref{Text: text[:at[0]]}, *v.place(text[at[0]:at[1]]))
		text = text[at[1]:]
	}
}
