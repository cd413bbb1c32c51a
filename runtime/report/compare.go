package report

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"ptc/internal/units"
)

// comparison is what differs between two plans, as tables.
type comparison struct {
	A, B   string
	Tables []difference
}

type difference struct {
	Title, Of string
	Rows      []differenceRow
}

// differenceRow is a figure of both plans. Its class is better or worse where less is
// better, else none.
type differenceRow struct{ Name, A, B, Change, Class string }

func compare(a, b *Document) *comparison {
	name := func(d *Document) string {
		return fmt.Sprintf("%s with layout %s for %s", d.Model, d.Layout, d.Target)
	}
	c := &comparison{A: name(a), B: name(b)}
	c.add("Figures", "figure", figuresOf(a, b))
	c.add("Memory of the device that needs most", "kind", memories(a, b))
	c.add("Communication", "over, kind", traffics(a, b))
	c.add("Config and mesh", "name", words(settings(a), settings(b)))
	c.add("Shards of tensors", "tensor", words(shards(a), shards(b)))
	return c
}

func (c *comparison) add(title, of string, rows []differenceRow) {
	rows = slices.DeleteFunc(rows, func(r differenceRow) bool { return r.A == r.B && r.Change == "" })
	if len(rows) > 0 {
		c.Tables = append(c.Tables, difference{title, of, rows})
	}
}

// lower is a row of which less is better.
func lower(name string, a, b float64, text func(float64) string) differenceRow {
	r := differenceRow{Name: name, A: text(a), B: text(b)}
	switch {
	case a == b:
		return r
	case b < a:
		r.Class = "better"
	default:
		r.Class = "worse"
	}
	r.Change = change(a, b)
	return r
}

// change is how much more b is than a.
func change(a, b float64) string {
	switch {
	case a == 0:
		return "new"
	case b == 0:
		return "gone"
	case b/a >= 10 || a/b >= 10:
		return fmt.Sprintf("×%.3g", b/a)
	}
	return fmt.Sprintf("%+.1f%%", 100*(b/a-1))
}

func inBytes(v float64) string { return units.Bytes(int64(v)) }
func number(v float64) string  { return fmt.Sprint(int64(v)) }

func figuresOf(a, b *Document) []differenceRow {
	x, y := &a.Report.Verdict, &b.Report.Verdict
	rows := []differenceRow{
		lower("arena of a device", float64(x.Arena), float64(y.Arena), inBytes),
		lower("idle share of the pipeline", x.Idle, y.Idle, percent),
		lower("bytes a device exchanges", float64(x.Sends), float64(y.Sends), inBytes),
		lower("exchanges of a device", float64(a.Sends.Count), float64(b.Sends.Count), number),
		lower("launches a step", float64(a.LaunchesPerStep), float64(b.LaunchesPerStep), number),
		lower("kernels", float64(len(a.Kernels)), float64(len(b.Kernels)), number),
		lower("arithmetic of all devices", a.FlopsPerStep, b.FlopsPerStep, func(v float64) string { return units.Count(v, "FLOP") }),
	}
	if a.Roofline != nil && b.Roofline != nil {
		rows = append(rows, lower("a step takes at least", a.Roofline.StepMs, b.Roofline.StepMs, milliseconds))
	}
	// Of these neither more nor less is better.
	for _, r := range []differenceRow{
		lower("devices", float64(a.Devices), float64(b.Devices), number),
		lower("parameters", float64(a.Parameters.Elements), float64(b.Parameters.Elements), func(v float64) string { return units.Count(v, "") }),
		lower("tokens a step", float64(a.TokensPerStep), float64(b.TokensPerStep), number),
	} {
		r.Class = ""
		rows = append(rows, r)
	}
	return rows
}

func memories(a, b *Document) (rows []differenceRow) {
	for _, s := range spaces {
		rows = append(rows, lower(string(s), float64(a.Memory.Arena[s]), float64(b.Memory.Arena[s]), inBytes))
	}
	for _, m := range []struct {
		name string
		a, b []int64
	}{{"on the host", a.Memory.Host, b.Memory.Host}, {"on disk", a.Memory.Disk, b.Memory.Disk}} {
		rows = append(rows, lower(m.name, float64(slices.Max(append(m.a, 0))), float64(slices.Max(append(m.b, 0))), inBytes))
	}
	return rows
}

func traffics(a, b *Document) (rows []differenceRow) {
	bytes := [2]map[string]float64{{}, {}}
	names := map[string]bool{}
	for i, d := range []*Document{a, b} {
		for _, r := range traffic(d.Collectives) {
			name := r.Axis + ", " + r.Kind
			bytes[i][name] = float64(r.Bytes)
			names[name] = true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		rows = append(rows, lower(n, bytes[0][n], bytes[1][n], inBytes))
	}
	return rows
}

// settings are the config and the mesh, as words.
func settings(d *Document) map[string]string {
	out := map[string]string{}
	for k, v := range d.Config {
		out[k] = v
	}
	for _, a := range d.Report.Mesh {
		out["mesh "+a.Name] = fmt.Sprint(a.Size)
	}
	return out
}

// open is the number of an instance, open or not, in a path.
var open = regexp.MustCompile(`\.(\{[^}]*\}|[0-9]+)(\.|$)`)

// shards are what each tensor is sharded over; those of all instances of a stack are one.
func shards(d *Document) map[string]string {
	out := map[string]string{}
	for _, s := range d.Report.Shardings {
		var axes []string
		for _, a := range s.Axes {
			if len(a.Over) > 0 {
				axes = append(axes, a.Name+" over "+strings.Join(a.Over, ", "))
			}
		}
		how := "replicated"
		if len(axes) > 0 {
			how = strings.Join(axes, "; ")
		}
		path := open.ReplaceAllString(s.Path, ".*$2")
		if had := out[path]; had != "" && !strings.Contains(had, how) {
			how = had + ", or " + how
		}
		out[path] = how
	}
	return out
}

func words(a, b map[string]string) (rows []differenceRow) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, n := range slices.Sorted(maps.Keys(all)) {
		rows = append(rows, differenceRow{Name: n, A: cmp.Or(a[n], "–"), B: cmp.Or(b[n], "–")})
	}
	return rows
}
