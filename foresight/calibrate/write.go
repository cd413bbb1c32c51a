package calibrate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ptc/compiler/ceilings"
	"ptc/foresight/machine"
	"ptc/lang/syntax"
)

// write makes the file of a machine, and reads it back.
func write(o *Options, c *ceilings.Report, m *machine.Machine, all []launched, kernels map[string]float64) (*Result, error) {
	fitted := fmt.Sprintf("fitted to the kernels of %d launches, %s", len(all), origin(o, c))
	for _, s := range []*machine.Sourced{&m.Device.Bandwidth, &m.Device.CacheRate} {
		s.Source = fitted
	}
	m.Device.MemoryShare.Source = "fitted: `bandwidth` is what kernels reach"
	vector := m.Device.Vector["f32"]
	vector.Source = fitted
	m.Device.Vector["f32"] = vector
	for _, of := range []map[string]machine.Sourced{m.Device.Share, m.Device.Attention} {
		for t, s := range of {
			s.Source = fitted
			of[t] = s
		}
	}
	var b strings.Builder
	w := &writer{Builder: &b}
	w.machine(m, origin(o, c), kernels)
	text, errs := syntax.Format(o.Name+machine.Extension, []byte(b.String()))
	if len(errs) > 0 {
		return nil, fmt.Errorf("the machine that was measured cannot be written: %w", errs)
	}
	back, errs := machine.Load(o.Name+machine.Extension, text)
	if len(errs) > 0 {
		return nil, fmt.Errorf("the machine that was measured is not valid: %w", errs)
	}
	return &Result{Machine: back, Text: string(text), Kernels: len(kernels), Deviation: deviation(m, all)}, nil
}

// deviation is by how much the model without a table is off, as the median over time.
func deviation(m *machine.Machine, all []launched) float64 {
	type off struct{ by, weight float64 }
	model := modelOf(m)
	var list []off
	sum := 0.0
	for i := range all {
		l := &all[i]
		list = append(list, off{math.Abs(l.predicted(model)/l.seconds - 1), l.share})
		sum += l.share
	}
	slices.SortFunc(list, func(a, b off) int { return cmp.Compare(a.by, b.by) })
	at := 0.0
	for _, x := range list {
		if at += x.weight; at >= sum/2 {
			return x.by
		}
	}
	return 0
}

// writer writes the sections of a machine.
type writer struct{ *strings.Builder }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// number writes an entry with its source.
func (w *writer) number(key, value string, s machine.Sourced) {
	w.line("%s = %s from %s", key, value, quoted(s.Source))
}

func (w *writer) machine(m *machine.Machine, by string, kernels map[string]float64) {
	d, h := &m.Device, &m.Host
	w.line("// The processors of one host, as `ptc machine calibrate` measured them. Devices of a plan share them.")
	w.line("machine %s {\ntitle = %s\n\ndevice {", m.Name, quoted(m.Title))
	w.line("target = %s", quoted(d.Target))
	w.number("processors", strconv.Itoa(d.Processors), machine.Sourced{Source: by})
	for _, t := range sorted(d.Peak) {
		w.number("peak "+t, flops(d.Peak[t].Value), d.Peak[t])
		w.number("share "+t, plain(d.Share[t].Value), d.Share[t])
		w.number("attention "+t, plain(d.Attention[t].Value), d.Attention[t])
	}
	w.number("vector f32", flops(d.Vector["f32"].Value), d.Vector["f32"])
	w.line("serial = true\n")
	w.number("memory", bytes(d.Memory.Value), d.Memory)
	w.number("reserve", bytes(d.Reserve.Value), d.Reserve)
	w.number("bandwidth", rateText(d.Bandwidth.Value), d.Bandwidth)
	w.number("share memory", plain(d.MemoryShare.Value), d.MemoryShare)
	w.number("cache", bytes(d.Cache.Value), d.Cache)
	w.number("bandwidth cache", rateText(d.CacheRate.Value), d.CacheRate)
	w.line("")
	w.number("launch", seconds(d.Launch.Value), d.Launch)
	w.number("start "+protocol, seconds(d.Start[protocol].Value), d.Start[protocol])
	w.number("occupies", strconv.Itoa(d.Processors), machine.Sourced{Source: "processors move the data themselves"})
	w.line("}\nhost {")
	w.number("devices", strconv.Itoa(h.Devices), machine.Sourced{Source: "devices are threads of one process"})
	w.line("shared = true")
	w.number("launch", seconds(h.Launch.Value), h.Launch)
	w.number("link", rateText(h.Link.Value), h.Link)
	w.number("share link", plain(h.LinkShare.Value), h.LinkShare)
	w.number("memory", bytes(h.Memory.Value), h.Memory)
	w.line("}")
	for i := range m.Levels {
		w.level(&m.Levels[i], by)
	}
	if len(kernels) > 0 {
		w.line("kernels {")
		for _, key := range sorted(kernels) {
			w.line("%s = %s from %s", quoted(key), seconds(max(kernels[key], leastKernel)), quoted(by))
		}
		w.line("}")
	}
	w.line("}")
}

// leastKernel is the shortest time that a table of kernels may have.
const leastKernel = 1e-9

func (w *writer) level(l *machine.Level, by string) {
	w.line("level %s {", l.Name)
	w.number("most", strconv.Itoa(l.Most), machine.Sourced{Source: "devices are threads of one process"})
	w.number("link", rateText(l.Link.Value), l.Link)
	w.number("share "+protocol, plain(l.Share[protocol].Value), l.Share[protocol])
	w.number("latency "+protocol, seconds(l.Latency[protocol].Value), l.Latency[protocol])
	w.number("oversubscription", plain(l.Oversubscription.Value), l.Oversubscription)
	w.line("shared memory = true\n}")
}

func plain(x float64) string { return strconv.FormatFloat(rounded(x), 'f', -1, 64) }

func flops(x float64) string    { return plain(x/1e9) + " GFLOP/s" }
func rateText(x float64) string { return plain(x/1e9) + " GB/s" }
func seconds(x float64) string  { return plain(x*1e6) + " us" }
func bytes(x float64) string    { return plain(x/(1<<20)) + " MiB" }

// rounded has four digits: more would not be the same the next time.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	if err != nil {
		return x
	}
	return y
}

// quoted is a text of the language.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ", "\r", " ", "\t", " ").Replace(s) + `"`
}
