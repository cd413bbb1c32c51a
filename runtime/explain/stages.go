package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ptc/internal/units"
	"ptc/runtime/lives"
	"ptc/runtime/program"
)

// Stage is what the arena of a class of devices, such as a stage of a pipeline, holds at the moment of a step at which
// most of it is in use. The parts add up to Arena.
type Stage struct {
	Class       int      `json:"device_class"`
	Arena       int64    `json:"arena_bytes"`
	Params      int64    `json:"parameters"`
	Optimizer   int64    `json:"optimizer"`
	Grads       int64    `json:"gradients"`
	Activations int64    `json:"activations"` // what outlives the instance of the module that made it
	Temporaries int64    `json:"temporaries"` // what does not
	Inputs      int64    `json:"inputs"`
	Validation  int64    `json:"validation"` // what a step never touches, and validation does
	Unused      int64    `json:"unused"`     // what lies between buffers, or waits for a later moment
	Modules     []Module `json:"activations_by_module"`
	Peak        string   `json:"peak_module"` // the module that computes at that moment
	// Exact is false if the steps are too long to be written out. Then each part is what it ever holds, as far as no part
	// above it has held that, and Modules is empty.
	Exact bool `json:"exact"`
}

// Module is the activations of a module, or of one in all instances of a block.
type Module struct {
	Scope string `json:"scope"`
	Bytes int64  `json:"bytes"`
}

// maxLong bounds the instructions of steps that are written out for their stages, together: those of the stages with the
// largest arenas come first. It is about two seconds of a processor.
const maxLong = 1 << 19

func stagesOf(p *program.Plan) []Stage {
	out := []Stage{}
	for i := range p.Devices {
		d := &p.Devices[i]
		if prog := step(d); prog != nil {
			s := Stage{Class: i, Arena: d.Arena, Modules: []Module{}}
			s.Validation = touched(d, nil) - touched(d, prog)
			out = append(out, s)
		}
	}
	order := make([]*Stage, len(out))
	for i := range out {
		order[i] = &out[i]
	}
	slices.SortStableFunc(order, func(a, b *Stage) int { return cmp.Compare(b.Arena, a.Arena) })
	left := maxLong
	for _, s := range order {
		d := &p.Devices[s.Class]
		prog := step(d)
		if n := d.Order(prog).Issued(); n == 0 || n > left || !s.live(p) {
			s.ever(d, prog)
		} else {
			left -= n
		}
		s.Unused = s.Arena - s.held() - s.Validation
	}
	return out
}

func (s *Stage) held() int64 {
	return s.Params + s.Optimizer + s.Grads + s.Activations + s.Temporaries + s.Inputs
}

// part is where the bytes of a space are counted, but for temporaries.
func (s *Stage) part(space program.Space) *int64 {
	switch space {
	case program.Params:
		return &s.Params
	case program.Optimizer:
		return &s.Optimizer
	case program.Grads:
		return &s.Grads
	case program.Inputs:
		return &s.Inputs
	case program.Scratch:
		return &s.Temporaries
	}
	return &s.Activations
}

// live fills s by the values that are live at the peak; false if the step cannot be written out.
func (s *Stage) live(p *program.Plan) bool {
	one := *p
	one.Devices = p.Devices[s.Class : s.Class+1]
	long, err := one.Expanded()
	if err != nil {
		return false
	}
	d := &long.Devices[0]
	prog := step(d)
	values := lives.Of(long, d, prog)
	if len(prog.Instrs) == 0 {
		return false
	}
	at := fullest(values, len(prog.Instrs))
	moves := instances(prog)
	modules := map[string]*moduleOf{}
	for i := range values {
		v := &values[i]
		if v.From > at || v.Until <= at {
			continue
		}
		to := s.part(v.Space)
		if to == &s.Activations {
			if moves[v.From] == moves[v.Until-1] {
				to = &s.Temporaries
			} else {
				key := template(v.Of.Module)
				if modules[key] == nil {
					modules[key] = &moduleOf{}
				}
				modules[key].add(v)
			}
		}
		*to += v.Bytes
	}
	for _, m := range modules {
		s.Modules = append(s.Modules, Module{fold(m.places), m.bytes})
	}
	slices.SortFunc(s.Modules, func(a, b Module) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Scope, b.Scope)) })
	s.Peak, s.Exact = template(prog.Instrs[at].Scope), true
	return true
}

// fullest is the instruction at which values hold most bytes, the first of several. No two of them overlap.
func fullest(values []lives.Value, instructions int) (at int) {
	change := make([]int64, instructions+1)
	for i := range values {
		v := &values[i]
		change[v.From] += v.Bytes
		change[v.Until] -= v.Bytes
	}
	held, most := int64(0), int64(-1)
	for i, n := range change[:instructions] {
		if held += n; held > most {
			at, most = i, held
		}
	}
	return at
}

// moduleOf is the activations of one module in all of its instances.
type moduleOf struct {
	places []place
	bytes  int64
}

func (m *moduleOf) add(v *lives.Value) {
	m.bytes += v.Bytes
	if at := (place{v.Of.Module, 1}); !slices.Contains(m.places, at) {
		m.places = append(m.places, at)
	}
}

// instances numbers the instructions of a step by the instance of a block that they are in: the number changes where
// another block, or what is outside of blocks, goes on.
func instances(p *program.Program) []int {
	out := make([]int, len(p.Instrs))
	n, last := 0, ""
	for i := range p.Instrs {
		if at := blockOf(p.Instrs[i].Scope); at != last {
			n, last = n+1, at
		}
		out[i] = n
	}
	return out
}

// blockOf is a scope up to its first number: blocks.3 of blocks.3.attn; nothing if there is no number.
func blockOf(scope string) string {
	at := 0
	for part := range strings.SplitSeq(scope, ".") {
		at += len(part)
		if isNumber(part) {
			return scope[:at]
		}
		at++
	}
	return ""
}

// touched is how many bytes of the arena the buffers of a program cover, with tensors and what is fed; nil: of all
// programs.
func touched(d *program.Device, prog *program.Program) int64 {
	uses := map[int]bool{}
	for _, t := range d.Tensors {
		uses[t.Buffer] = true
	}
	for i := range d.Progs {
		if x := &d.Progs[i]; prog == nil || x == prog {
			for j := range x.Instrs {
				for _, b := range x.Instrs[j].Bufs {
					uses[b] = true
				}
			}
			for _, port := range d.Ports {
				if port.Program == x.Name {
					uses[port.Buffer] = true
				}
			}
		}
	}
	return coveredBy(d, func(i int) bool { return uses[i] })
}

// ever fills s by what parts hold at some time.
func (s *Stage) ever(d *program.Device, prog *program.Program) {
	uses := map[int]bool{}
	for _, t := range d.Tensors {
		uses[t.Buffer] = true
	}
	for i := range prog.Instrs {
		for _, b := range prog.Instrs[i].Bufs {
			uses[b] = true
		}
	}
	var before int64
	done := map[program.Space]bool{}
	for _, space := range []program.Space{program.Params, program.Optimizer, program.Grads, program.Activations, program.Scratch, program.Inputs} {
		done[space] = true
		all := coveredBy(d, func(i int) bool { return uses[i] && done[d.Buffers[i].Space] })
		*s.part(space) += all - before
		before = all
	}
}

// rowsOfStages and rowsOfModules bound the tables of the summary.
const (
	rowsOfStages  = 20
	rowsOfModules = 10
)

// stageTable shows the stages, of which those that are alike and follow one another are one row.
func stageTable(b *strings.Builder, d *Description) {
	list := d.Memory.Stages
	if len(list) == 0 {
		return
	}
	b.WriteString("\nMemory of a device at the peak of a step\n")
	columns := []struct {
		label string
		of    func(s *Stage) int64
	}{
		{"parameters", func(s *Stage) int64 { return s.Params }}, {"optimizer", func(s *Stage) int64 { return s.Optimizer }},
		{"gradients", func(s *Stage) int64 { return s.Grads }}, {"activations", func(s *Stage) int64 { return s.Activations }},
		{"temporaries", func(s *Stage) int64 { return s.Temporaries }}, {"inputs", func(s *Stage) int64 { return s.Inputs }},
		{"validation", func(s *Stage) int64 { return s.Validation }}, {"unused", func(s *Stage) int64 { return s.Unused }},
		{"all", func(s *Stage) int64 { return s.Arena }},
	}
	fmt.Fprintf(b, "  %-14s", "devices")
	for _, c := range columns {
		fmt.Fprintf(b, " %11s", c.label)
	}
	b.WriteString("\n")
	rows, roughly := 0, false
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && alikeStages(&list[i], &list[j]) {
			j++
		}
		if rows++; rows > rowsOfStages {
			fmt.Fprintf(b, "  … %d more: --json\n", len(list)-i)
			break
		}
		name := d.ClassText(list[i].Class)
		if j > i+1 {
			name += " … " + d.ClassText(list[j-1].Class)
		}
		if !list[i].Exact {
			name, roughly = name+" ~", true
		}
		fmt.Fprintf(b, "  %-14s", name)
		for _, c := range columns {
			fmt.Fprintf(b, " %11s", units.Bytes(c.of(&list[i])))
		}
		b.WriteString("\n")
		i = j
	}
	if roughly {
		b.WriteString("  ~ too long to be followed: a part is what it ever holds, and no part before it\n")
	}
	largest := &list[0]
	for i := range list {
		if list[i].Arena > largest.Arena {
			largest = &list[i]
		}
	}
	moduleTable(b, d, largest)
}

// moduleTable shows whose the activations of the largest stage are.
func moduleTable(b *strings.Builder, d *Description, s *Stage) {
	if len(s.Modules) == 0 {
		return
	}
	of := ""
	if len(d.Memory.Stages) > 1 {
		of = " of " + d.ClassText(s.Class)
	}
	where := cmp.Or(s.Peak, "the loss or the optimizer")
	fmt.Fprintf(b, "  activations%s by module, while %s computes\n", of, where)
	for i, m := range s.Modules {
		if i == rowsOfModules {
			fmt.Fprintf(b, "    … %d more: --json\n", len(s.Modules)-i)
			break
		}
		fmt.Fprintf(b, "    %11s  %s\n", units.Bytes(m.Bytes), cmp.Or(m.Scope, "outside of modules"))
	}
}

// alikeStages says whether a table shows the same of both.
func alikeStages(a, b *Stage) bool {
	x, y := *a, *b
	x.Class, y.Class, x.Modules, y.Modules, x.Peak, y.Peak = 0, 0, nil, nil, "", ""
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// ClassText names a class of devices by its coordinates: pp=3; "all" if there is one class.
func (d *Description) ClassText(class int) string {
	at := d.Classes[class].At
	if len(at) == 0 {
		return "all"
	}
	var out []string
	for axis, n := range at {
		out = append(out, fmt.Sprintf("%s=%d", axis, n))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
