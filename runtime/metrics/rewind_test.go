package metrics

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// session tells the steps of a run from one to another, a validation after every third and a
// checkpoint after every fourth, told a step late.
func session(s Sink, from, to, last int64) {
	start := &Start{First: from, Last: last}
	if from > 1 {
		start.Resumed = "ck"
	}
	s.Tell(start)
	s.Tell(&Warning{fmt.Sprintf("begins at %d", from)})
	for step := from; step <= to; step++ {
		s.Tell(&Step{Step: step, Loss: 1 / float64(step), GradNorm: nan, LR: 1, Ms: nan, TokensPerS: nan})
		if step%3 == 0 {
			s.Tell(&Validation{step, 2})
		}
		if step%4 == 1 && step-1 >= from {
			s.Tell(&Checkpoint{Step: step - 1, Dir: "ck"})
		}
	}
	if to == last {
		s.Tell(&End{Steps: last, Loss: 1, ValLoss: 3})
	}
}

// withoutNotes are the lines of a log but those of starts and warnings, of which each run has its own.
func withoutNotes(text []byte) (out []string) {
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if !strings.Contains(line, `"start"`) && !strings.Contains(line, `"warning"`) && !strings.Contains(line, `"checkpoint"`) {
			out = append(out, line)
		}
	}
	return out
}

// withoutIdle leaves out what runs with nothing left to do have told: of a step that was not validated
// before, a validation.
func withoutIdle(lines []string) (out []string) {
	for _, line := range lines {
		step, validation, _ := strings.Cut(line, ",,2,")
		var n int
		if _, err := fmt.Sscan(step, &n); err == nil && validation != "" && n%3 != 0 || strings.Contains(line, `"event":"end"`) && strings.Contains(line, `"val_loss":2`) {
			continue
		}
		out = append(out, line)
	}
	return out
}

// TestLogsOfResumedRuns: a run that was killed again and again, in the middle of a line too, has
// the log of one that never was; each line of another run before it stays.
func TestLogsOfResumedRuns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, open := range map[string]func(string) (Sink, error){"a.csv": openCSV, "a.jsonl": openJSON} {
		for range 30 {
			dir := t.TempDir()
			whole, killed := filepath.Join(dir, "whole"+name), filepath.Join(dir, name)
			last := 4 + random.Int64N(400)
			for _, path := range []string{whole, killed} {
				write(t, path, open, func(s Sink) { session(s, 1, 9, 9) }) // another training
			}
			write(t, whole, open, func(s Sink) { session(s, 1, last, last) })
			for from, done := int64(1), int64(0); done < last; {
				if random.IntN(2) == 0 && from > 1 { // a run that has nothing left to do
					write(t, killed, open, func(s Sink) {
						s.Tell(&Start{First: from, Last: from - 1, Resumed: "ck"})
						s.Tell(&End{Steps: from - 1, Loss: 1, ValLoss: 2})
					})
				}
				done = min(last, from+2+random.Int64N(last/2+1))
				write(t, killed, open, func(s Sink) { session(s, from, done, last) })
				if done < last && random.IntN(2) == 0 {
					text := read(t, killed)
					cut := bytes.LastIndexByte(text[:len(text)-1], '\n')
					if err := os.Truncate(killed, int64(cut)+1+random.Int64N(int64(len(text)-cut-1))); err != nil {
						t.Fatal(err)
					}
					done = max(from-1, done-2) // what is torn was not saved
				}
				if done < last {
					from = max(from, 1+random.Int64N(max(1, done)))
				}
				if from == 1 && done < last {
					from = 2
				}
			}
			want, got := withoutIdle(withoutNotes(read(t, whole))), withoutIdle(withoutNotes(read(t, killed)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s: %s", name, diff)
			}
		}
	}
}

func write(t *testing.T, path string, open func(string) (Sink, error), tell func(Sink)) {
	t.Helper()
	s, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	tell(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRewoundEvents: what is told of earlier steps stays, wherever it stands; what is told of
// later ones goes, and nothing where no step is run.
func TestRewoundEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, openJSON, func(s Sink) { session(s, 1, 6, 9) }) // the checkpoint of 4 is told after step 5
	before := string(read(t, path))
	write(t, path, openJSON, func(s Sink) { s.Tell(&Start{First: 5, Last: 4, Resumed: "ck"}) })
	if text := string(read(t, path)); !strings.HasPrefix(text, before) {
		t.Errorf("a run without a step leaves\n%s", text)
	}
	write(t, path, openJSON, func(s Sink) { s.Tell(&Start{First: 5, Last: 9, Resumed: "ck"}) })
	text := string(read(t, path))
	if strings.Contains(text, `"step":5`) || strings.Contains(text, `"step":6`) || !strings.Contains(text, `"event":"checkpoint","step":4`) || !strings.Contains(text, "begins at 1") {
		t.Errorf("left is\n%s", text)
	}
}

// TestKilledWhileRewinding: a run that ends between what rewind writes and what it cuts off loses
// no line that stays, and the next one removes what is left.
func TestKilledWhileRewinding(t *testing.T) {
	for name, open := range map[string]func(string) (Sink, error){"a.csv": openCSV, "a.jsonl": openJSON} {
		path := filepath.Join(t.TempDir(), name)
		write(t, path, open, func(s Sink) { session(s, 1, 50, 90) })
		whole := read(t, path)
		again := func() []byte {
			write(t, path, open, func(s Sink) { s.Tell(&Start{First: 20, Last: 90, Resumed: "ck"}) })
			return read(t, path)
		}
		want := withoutNotes(again())
		rewound := read(t, path)
		if err := os.WriteFile(path, append(rewound[:len(rewound):len(rewound)], whole[min(len(rewound), len(whole)):]...), 0o666); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, withoutNotes(again())); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestLogThatCannotBeRewound: what cannot be removed stays, and what follows is told all the same.
func TestLogThatCannotBeRewound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	write(t, path, openCSV, func(s Sink) { session(s, 1, 9, 20) })
	s, err := openCSV(path)
	if err != nil {
		t.Fatal(err)
	}
	s.(*CSV).path = t.TempDir() + "/none"
	session(s, 5, 20, 20)
	if err := s.Close(); err == nil {
		t.Error("nothing is said")
	}
	if rows := withoutNotes(read(t, path)); !strings.HasPrefix(rows[len(rows)-1], "20,") {
		t.Errorf("it ends with %q", rows[len(rows)-1])
	}
}
