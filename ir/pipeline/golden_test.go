package pipeline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ptc/internal/golden"
)

// The cases name a schedule or list slots in a section, and state what follows:
//
//	schedule: 1f1b             or a section slots: "device 0: F0 F1 B0 B1"
//	shape: 4 8 1               devices, microbatches, chunks
//	place: 0 1 1 0             the device of each stage; in a loop if absent
//	unit: 1 0.5 0.5            costs of F, I, W; these if absent
//	room: 2                    of the channels in the proof
//
// Sections that are present in the archive are checked: timeline (with messages
// that take no time), facts, fault.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		n := numbers(t, c.Option("shape"))
		shape := Shape{Devices: n[0], Microbatches: n[1], Chunks: n[2]}
		u := Unit{1, 0.5, 0.5, 0}
		if text := c.Option("unit"); text != "" {
			var err error
			if _, err = fmt.Sscan(text, &u.Forward, &u.Input, &u.Weight); err != nil {
				t.Fatal(err)
			}
		}
		s := &Schedule{Shape: shape, Place: Place(Loop(shape.Devices, shape.Chunks))}
		if text := c.Option("place"); text != "" {
			s.Place = Place(numbers(t, text))
		}
		if c.Has("slots") {
			s.Devices = parseSlots(t, s.Place, c.Input("slots"))
		} else {
			var err error
			if s, err = New(c.Option("schedule"), shape, Uniform(shape, u)); err != nil {
				t.Fatal(err)
			}
		}
		if c.Has("timeline") {
			checkTimeline(t, c, s, u)
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
	c.Output("facts", fmt.Sprintf("step %g\nbubble %.4f\nidle %v\nactivations held %v\n", r.Makespan, r.Bubble, r.Idle, r.Peak))
}

func faultOf(t *testing.T, c *golden.Case, s *Schedule) string {
	t.Helper()
	room := Unbounded
	if text := c.Option("room"); text != "" {
		room = numbers(t, text)[0]
	}
	var f *Fault
	if err := Prove(s, s.Shape, room); !errors.As(err, &f) {
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
func parseSlots(t *testing.T, at *Placement, text string) [][]Slot {
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
			slots = append(slots, Slot{Kind(strings.IndexByte("FBIW", label[0])), at.Stages(d)[n], i})
		}
		out = append(out, slots)
	}
	return out
}

// TestPicturesInComments: each schedule's file draws the timeline that it makes, of
// the shape that its comment names ("p = 2, v = 2, m = 3"), where each kind of slot
// that it has takes one unit.
func TestPicturesInComments(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`p = (\d+),(?: v = (\d+),)? m = (\d+)`)
	drawn := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := regexp.MustCompile(`\tName: +"(.+)",`).FindSubmatch(source)
		if name == nil {
			continue
		}
		row, err := Lookup(string(name[1]))
		if err != nil {
			t.Fatal(err)
		}
		drawn[row.Name] = true
		found := named.FindSubmatch(source)
		if found == nil {
			t.Errorf("%s names no p, m of a picture", file)
			continue
		}
		number := func(text []byte) int { n, _ := strconv.Atoi(string(text)); return n }
		shape := Shape{Devices: number(found[1]), Microbatches: number(found[3]), Chunks: max(row.Least, number(found[2]))}
		s, err := New(row.Name, shape, Costs{})
		if err != nil {
			t.Fatal(err)
		}
		unit := Unit{1, 0.5, 0.5, 0}
		if row.Split {
			unit = Unit{1, 1, 1, 0}
		}
		text, err := simulate(t, s, unit).Timeline(1)
		if err != nil {
			t.Fatal(err)
		}
		want := "//\t" + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n//\t") + "\n"
		if !strings.Contains(string(source), want) {
			t.Errorf("%s does not draw %s\n%s", file, shape, want)
		}
	}
	for _, name := range Names() {
		if !drawn[name] {
			t.Errorf("no picture of %s is compared", name)
		}
	}
}
