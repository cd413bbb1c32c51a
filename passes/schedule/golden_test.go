package schedule

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"ptc/internal/golden"
)

// The cases name a schedule or list slots in a section, and state what follows:
//
//	schedule: 1f1b             or a section slots: "device 0: F0 F1 B0 B1"
//	shape: 4 8 1               devices, microbatches, chunks
//	unit: 1 2 1 1              costs of F, B, I, W; 1 each if absent
//	capacity: 2                of the proof; sends wait for the receiver if 0
//	buffers: 3                 for saved activations of each stage; optional
//
// Sections that are present in the archive are checked: timeline (with free
// transfers), facts, program, fault.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		n := numbers(t, c.Option("shape"))
		shape := Shape{n[0], n[1], n[2]}
		s := &Schedule{Shape: shape}
		if c.Has("slots") {
			s.Devices = parseSlots(t, shape, c.Input("slots"))
		} else {
			var err error
			if s, err = New(c.Option("schedule"), shape); err != nil {
				t.Fatal(err)
			}
		}
		u := Unit{1, 1, 1, 1, 0}
		if text := c.Option("unit"); text != "" {
			n := numbers(t, text)
			u = Unit{float64(n[0]), float64(n[1]), float64(n[2]), float64(n[3]), 0}
		}
		if c.Has("timeline") {
			checkTimeline(t, c, s, u)
		}
		if c.Has("program") {
			p, err := Communicate(s, Uniform(shape, u))
			if err != nil {
				t.Fatal(err)
			}
			c.Output("program", p.String())
		}
		if c.Has("fault") {
			c.Output("fault", faultOf(t, c, s))
		}
	})
}

func checkTimeline(t *testing.T, c *golden.Case, s *Schedule, u Unit) {
	t.Helper()
	r := simulate(t, s, u)
	text, err := r.Timeline(1)
	if err != nil {
		t.Fatal(err)
	}
	c.Output("timeline", text)
	capacity, err := LeastCapacity(s)
	if err != nil {
		t.Fatal(err)
	}
	c.Output("facts", fmt.Sprintf("step %g\nbubble %.4f\nidle %v\nactivations held %v\nleast capacity %d\n",
		r.Makespan, r.Bubble, r.Idle, r.Peak, capacity))
}

func faultOf(t *testing.T, c *golden.Case, s *Schedule) string {
	t.Helper()
	capacity := numbers(t, c.Option("capacity"))[0]
	lim := Limits{Sends: Sends{Synchronous: capacity == 0, Capacity: capacity}}
	if text := c.Option("buffers"); text != "" {
		for range s.Shape.Stages() {
			lim.Buffers.Saved = append(lim.Buffers.Saved, numbers(t, text)[0])
		}
	}
	var f *Fault
	if err := Prove(s, s.Shape, lim); !errors.As(err, &f) {
		t.Fatalf("proved: %v", err)
	}
	return string(f.Rule) + ": " + f.Text
}

func numbers(t *testing.T, text string) []int {
	t.Helper()
	var out []int
	for _, f := range strings.Fields(text) {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	if len(out) == 0 {
		t.Fatal("an option of numbers is missing")
	}
	return out
}

// parseSlots reads labels as timelines write them. A label says the chunk, so
// the stage follows from the device.
func parseSlots(t *testing.T, s Shape, text string) [][]Slot {
	t.Helper()
	var out [][]Slot
	for d, line := range strings.Split(strings.TrimSpace(text), "\n") {
		_, labels, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("line %q names no device", line)
		}
		var slots []Slot
		for _, label := range strings.Fields(labels) {
			number, chunk, _ := strings.Cut(label[1:], ".")
			i, err := strconv.Atoi(number)
			if err != nil {
				t.Fatal(err)
			}
			n, _ := strconv.Atoi(chunk)
			slots = append(slots, Slot{Kind(strings.IndexByte("FBIW", label[0])), s.Stage(d, n), i})
		}
		out = append(out, slots)
	}
	return out
}

// TestPicturesInComments: the timeline drawn above each schedule is the one that
// it makes.
func TestPicturesInComments(t *testing.T) {
	for _, c := range []struct {
		file, name string
		shape      Shape
	}{
		{"gpipe.go", "gpipe", Shape{4, 4, 1}},
		{"one_f_one_b.go", "1f1b", Shape{4, 6, 1}},
		{"interleaved.go", "interleaved", Shape{2, 4, 2}},
		{"zb_h1.go", "zb_h1", Shape{4, 6, 1}},
	} {
		s, err := New(c.name, c.shape)
		if err != nil {
			t.Fatal(err)
		}
		text, err := simulate(t, s, Unit{1, 1, 1, 1, 0}).Timeline(1)
		if err != nil {
			t.Fatal(err)
		}
		source, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		want := "//\t" + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n//\t") + "\n"
		if !strings.Contains(string(source), want) {
			t.Errorf("%s does not draw %s\n%s", c.file, c.shape, want)
		}
	}
	if len(Names()) != 4 {
		t.Errorf("schedules %v: draw each of them", Names())
	}
}
