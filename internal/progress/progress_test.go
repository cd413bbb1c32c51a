package progress

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func run(d float64) Step { return Step{Time: d} }

func send(from, to, tag int, what any, latency float64) Step {
	return Step{Kind: Send, Channel: Channel{from, to, tag}, What: what, Time: latency}
}

func receive(from, to, tag int, what any) Step {
	return Step{Kind: Receive, Channel: Channel{from, to, tag}, What: what}
}

// all is a collective of processes 0 and 1.
func all(kind Kind, what any, d float64) Step {
	return Step{Kind: kind, Group: Group{Over: "x"}, Members: 2, What: what, Time: d}
}

func post(from, to, tag int, what any) Step {
	return Step{Kind: Post, Channel: Channel{from, to, tag}, What: what}
}

func take(of, from, to, tag int, what any) Step {
	return Step{Kind: Take, Of: of, Channel: Channel{from, to, tag}, What: what}
}

func wait(of int) Step { return Step{Kind: Wait, Of: of} }

func system(room int, programs ...[]Step) System {
	s := System{Room: room, Members: func(Group) []int { return []int{0, 1} }, Step: func(p, i int) (Step, bool) {
		if i >= len(programs[p]) {
			return Step{}, false
		}
		return programs[p][i], true
	}}
	for p := range programs {
		s.Processes = append(s.Processes, p)
	}
	return s
}

// TestRun: what comes to its end, when, and what does not, for whom.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		name     string
		room     int
		programs [][]Step
		end      float64
		want     *Fault
	}{
		{"nothing", 1, [][]Step{nil, nil}, 0, nil},
		{"a message travels", 1, [][]Step{{run(2), send(0, 1, 0, "x", 3)}, {receive(0, 1, 0, "x"), run(1)}}, 6, nil},
		{"the receiver comes later", 1, [][]Step{{run(2), send(0, 1, 0, "x", 3)}, {run(9), receive(0, 1, 0, "x"), run(1)}}, 10, nil},
		{"a full channel", 1, [][]Step{
			{send(0, 1, 0, 1, 0), send(0, 1, 0, 2, 0), run(1)},
			{run(5), receive(0, 1, 0, 1), run(5), receive(0, 1, 0, 2)}}, 10, nil},
		{"room for two", 2, [][]Step{
			{send(0, 1, 0, 1, 0), send(0, 1, 0, 2, 0), run(20)},
			{run(5), receive(0, 1, 0, 1), receive(0, 1, 0, 2)}}, 20, nil},
		{"a full channel delays", 1, [][]Step{
			{send(0, 1, 0, 1, 0), send(0, 1, 0, 2, 0), run(20)},
			{run(5), receive(0, 1, 0, 1), receive(0, 1, 0, 2)}}, 25, nil},
		{"a collective", 1, [][]Step{{run(2), all(Meet, "sum", 3), run(1)}, {run(7), all(Meet, "sum", 3)}}, 11, nil},
		{"started early", 1, [][]Step{{all(Start, "sum", 3), run(20), wait(0)}, {run(7), all(Meet, "sum", 3)}}, 20, nil},
		{"waited for", 1, [][]Step{{all(Start, "sum", 3), run(1), wait(0)}, {run(7), all(Start, "sum", 3), wait(1)}}, 10, nil},
		{"two under way", 1, [][]Step{
			{all(Start, "a", 1), all(Start, "b", 1), wait(1), wait(0)}, {all(Meet, "a", 1), run(3), all(Meet, "b", 1)}}, 5, nil},

		{"a circle of receives", 1, [][]Step{{receive(1, 0, 0, 1)}, {run(1), receive(0, 1, 0, 1)}}, 0,
			&Fault{Deadlock, []At{{0, 0}, {1, 1}}, none}},
		{"a circle behind others", 1, [][]Step{{receive(1, 0, 0, 1)}, {receive(2, 1, 0, 1)}, {receive(1, 2, 0, 1)}}, 0,
			&Fault{Deadlock, []At{{1, 0}, {2, 0}}, none}},
		{"a circle of full channels", 1, [][]Step{
			{send(0, 1, 0, 1, 0), send(0, 1, 0, 2, 0)}, {send(1, 0, 0, 1, 0), send(1, 0, 0, 2, 0)}}, 0,
			&Fault{Deadlock, []At{{0, 1}, {1, 1}}, none}},
		{"a collective and a message", 1, [][]Step{{all(Meet, "sum", 0), send(0, 1, 0, 1, 0)}, {receive(0, 1, 0, 1), all(Meet, "sum", 0)}}, 0,
			&Fault{Deadlock, []At{{0, 0}, {1, 0}}, none}},
		{"started and waited for too early", 1, [][]Step{{all(Start, "sum", 0), wait(0), send(0, 1, 0, 1, 0)}, {receive(0, 1, 0, 1), all(Meet, "sum", 0)}}, 0,
			&Fault{Deadlock, []At{{0, 1}, {1, 0}}, none}},
		{"the other one has ended", 1, [][]Step{{receive(1, 0, 0, 1)}, nil}, 0, &Fault{Deadlock, []At{{0, 0}}, 1}},
		{"one never meets", 1, [][]Step{{all(Meet, "sum", 0), all(Meet, "sum", 0)}, {all(Meet, "sum", 0)}}, 0, &Fault{Deadlock, []At{{0, 1}}, 1}},
		{"itself", 1, [][]Step{{receive(0, 0, 0, 1)}}, 0, &Fault{Deadlock, []At{{0, 0}}, none}},
		{"other content", 1, [][]Step{{send(0, 1, 0, "f32", 0)}, {run(1), receive(0, 1, 0, "f64")}}, 0, &Fault{Mismatch, []At{{0, 0}, {1, 1}}, 0}},
		{"other tags", 1, [][]Step{{send(0, 1, 0, 1, 0), send(0, 1, 1, 2, 0)}, {receive(0, 1, 1, 2), receive(0, 1, 0, 1)}}, 0, nil},
		{"other collectives", 1, [][]Step{{all(Meet, "sum", 0)}, {all(Meet, "max", 0)}}, 0, &Fault{Mismatch, []At{{1, 0}, {0, 0}}, 0}},
		{"posted", 1, [][]Step{{run(2), send(0, 1, 0, "x", 3)}, {post(0, 1, 0, "x"), run(9), take(0, 0, 1, 0, "x")}}, 9, nil},
		{"posted before it can be sent", 1, [][]Step{
			{receive(1, 0, 0, "y"), send(0, 1, 0, "x", 3)}, {post(0, 1, 0, "x"), send(1, 0, 0, "y", 2), take(0, 0, 1, 0, "x")}}, 5, nil},
		{"posted again before it is taken", 1, [][]Step{
			{send(0, 1, 0, "x", 1), send(0, 1, 0, "y", 1)}, {post(0, 1, 0, "x"), post(0, 1, 0, "y"), take(0, 0, 1, 0, "x"), take(1, 0, 1, 0, "y")}}, 2, nil},
		{"no room for what is posted and not taken", 1, [][]Step{
			{send(0, 1, 0, 1, 0), send(0, 1, 0, 2, 0), send(0, 1, 1, 3, 0)},
			{post(0, 1, 0, 1), post(0, 1, 0, 2), receive(0, 1, 1, 3), take(0, 0, 1, 0, 1), take(1, 0, 1, 0, 2)}}, 0,
			&Fault{Deadlock, []At{{0, 1}, {1, 2}}, none}},
		{"taken in another order", 2, [][]Step{
			{send(0, 1, 0, 1, 0), send(0, 1, 0, 2, 0)}, {post(0, 1, 0, 1), post(0, 1, 0, 2), take(1, 0, 1, 0, 2), take(0, 0, 1, 0, 1)}}, 0,
			&Fault{Order, []At{{1, 0}, {1, 2}}, 0}},
		{"received behind what is posted", 2, [][]Step{
			{send(0, 1, 0, 1, 0), send(0, 1, 0, 2, 0)}, {post(0, 1, 0, 1), receive(0, 1, 0, 2), take(0, 0, 1, 0, 1)}}, 0,
			&Fault{Order, []At{{1, 0}, {1, 1}}, 0}},
		{"too many posted", 9, [][]Step{nil, {post(0, 1, 0, 1), post(0, 1, 0, 1), post(0, 1, 1, 1), post(0, 1, 0, 1)}}, 0, &Fault{Crowded, []At{{1, 3}}, 0}},
		{"other content where it is taken", 1, [][]Step{{send(0, 1, 0, "f32", 0)}, {post(0, 1, 0, "f64"), take(0, 0, 1, 0, "f64")}}, 0,
			&Fault{Mismatch, []At{{0, 0}, {1, 1}}, 0}},
		{"nobody receives", 2, [][]Step{{send(0, 1, 3, 1, 0), send(0, 1, 2, 1, 0)}, nil}, 0, &Fault{Lost, []At{{0, 0}}, 0}},
	} {
		s := system(c.room, c.programs...)
		s.Posts = 2
		end, err := s.Run()
		var f *Fault
		errors.As(err, &f)
		if end != c.end || !reflect.DeepEqual(f, c.want) {
			t.Errorf("%s: ends at %v, %+v; want %v, %+v", c.name, end, f, c.end, c.want)
		}
	}
}

// TestOneOutcome: the order in which processes are looked at changes nothing: not
// whether they come to their end, and not the times.
func TestOneOutcome(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	count := map[bool]int{}
	for range 400 {
		const n = 4
		programs := make([][]Step, n)
		for k := range 12 {
			from := rng.IntN(n)
			to := (from + 1 + rng.IntN(n-1)) % n
			x := rng.Float64()
			programs[from] = append(programs[from], run(rng.Float64()), send(from, to, 0, k, x))
			at := len(programs[to])
			if rng.IntN(4) == 0 && at > 0 {
				at = rng.IntN(at)
			}
			programs[to] = slices.Insert(programs[to], at, receive(from, to, 0, k))
		}
		s := system(1+rng.IntN(2), programs...)
		outcome := func() string {
			times := map[At]float64{}
			s.Ran = func(p, i int, _, end float64) { times[At{p, i}] = end }
			end, err := s.Run()
			if err != nil {
				var f *Fault
				errors.As(err, &f)
				return fmt.Sprint(f.Kind)
			}
			return fmt.Sprint(end, times)
		}
		first := outcome()
		for range 5 {
			rng.Shuffle(n, func(i, j int) { s.Processes[i], s.Processes[j] = s.Processes[j], s.Processes[i] })
			if again := outcome(); again != first {
				t.Fatalf("%s, then %s", first, again)
			}
		}
		count[len(first) > 2]++
	}
	if count[true] < 50 || count[false] < 50 {
		t.Errorf("%d ran and %d did not", count[true], count[false])
	}
}
