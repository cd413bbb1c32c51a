package overlap_test

import (
	"fmt"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/verify"
	"ptc/passes/overlap"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

func TestGolden(t *testing.T) { passtest.Golden(t, "testdata/*.txtar", overlap.Run, nil) }

// gathering is a module with a run of so many instances, in which a gather is so many
// iterations ahead, with lines in place of its own.
func gathering(count, ahead int, edits ...string) string {
	text := fmt.Sprintf(`ptir 1 fused "t"
mesh dp=2

func @step class=entry
  stack l count=%d
  arg %%0 : f32[b=4] data "x"
  arg %%1 : f32[b=2@dp] each l param "l.{i}.w"
  for l
    %%2 : f32[b=4] = enter %%0 // l.{i}
    %%3 : f32[b=4] = all_gather %%1 ahead=%d axis=b over=(dp) parts=2 start=true // l.{i}
    %%4 : f32[b=4] = done %%3 // l.{i}
    %%5 : f32[b=4] = call %%2, %%4 fn=@sum // l.{i}
    %%6 : f32[b=4] = leave %%2, %%5 // l.{i}
  end for
  result %%6 grad "x"
end

func @sum class=kernel kind=map
  arg %%0 : f32[b=4] in
  arg %%1 : f32[b=4] in
  %%2 : f32[b=4] = add %%0, %%1
  result %%2 out
end
`, count, ahead)
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			panic(edits[i])
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	return text
}

func parse(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, errs := ir.Parse("t.ptir", []byte(text))
	if len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, text)
	}
	return m
}

// TestUnderWay: what the text of one instance says of how many collectives are under
// way at a time is what there are in the run written out.
func TestUnderWay(t *testing.T) {
	for _, count := range []int{1, 3, 31, 32, 33, 34, 70} {
		for _, ahead := range []int{1, 2, 30, 31, 32, 33, 60} {
			m := parse(t, gathering(count, ahead))
			short, long := len(overlap.Check(m)) > 0, len(overlap.Check(m.Unrolled())) > 0
			if want := min(count, ahead+1) > overlap.MaxOpen; short != want || long != want {
				t.Errorf("%d instances, %d iterations ahead: refused %v, written out %v; want %v", count, ahead, short, long, want)
			}
		}
	}
}

// TestFarAhead: gathers are as many iterations ahead as the layout says, if not more would be
// under way than may.
func TestFarAhead(t *testing.T) {
	const done = "    %4 : f32[b=4] = done %3 // l.{i}\n"
	for prefetch, want := range map[int]int{0: 0, 1: 1, 5: 5, 31: 31, 32: 31, 64: 31} {
		rule := fmt.Sprintf("mesh dp=2\nmeta layout(name=\"t\", rules=[zero(at=\"t:1:1\", level=3, over=(dp), prefetch=%d)])\n", prefetch)
		m := parse(t, gathering(70, 1, " ahead=1", "", " start=true", "", done, "", "%2, %4", "%2, %3", "mesh dp=2\n", rule))
		if err := overlap.Run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
		for _, o := range m.Func("step").Ops {
			if o.Name == "all_gather" && (o.Ahead != want || o.Start != (want > 0)) {
				t.Errorf("prefetch %d: the gather is %d iterations ahead, want %d", prefetch, o.Ahead, want)
			}
		}
		if errs := append(verify.Module(m), overlap.Check(m.Unrolled())...); len(errs) > 0 {
			t.Error(errs)
		}
	}
}

// TestManyUnderWay: however many collectives an instance has, at most
// [overlap.MaxOpen] are under way, and all of them concurrently with kernels.
func TestManyUnderWay(t *testing.T) {
	for _, gathers := range []int{4, 15, 20, 31, 40} {
		var b strings.Builder
		b.WriteString("ptir 1 fused \"t\"\nmesh dp=2\nmeta layout(name=\"t\", rules=[bucket(at=\"t:1:1\", bytes=0)])\n\nfunc @step class=entry\n  stack l count=5\n  arg %0 : f32[b=4] data \"x\"\n")
		for i := range gathers {
			fmt.Fprintf(&b, "  arg %%%d : f32[b=2@dp] each l param \"l.{i}.w%d\"\n", i+1, i)
		}
		b.WriteString("  for l\n    %100 : f32[b=4] = enter %0 // l.{i}\n")
		last, sum := 100, 100
		for i := range gathers {
			fmt.Fprintf(&b, "    %%%d : f32[b=4] = all_gather %%%d axis=b over=(dp) parts=2 // l.{i}\n    %%%d : f32[b=4] = call %%%d, %%%d fn=@sum // l.{i}\n",
				last+1, i+1, last+2, sum, last+1)
			fmt.Fprintf(&b, "    %%%d : f32[b=4] partial(dp) = call %%%d fn=@part // l.{i}\n    %%%d : f32[b=4] = all_reduce %%%d over=(dp) reduce=sum // l.{i}\n",
				last+3, last+2, last+4, last+3)
			last, sum = last+4, last+2
		}
		fmt.Fprintf(&b, "    %%%d : f32[b=4] = leave %%100, %%%d // l.{i}\n  end for\n  result %%%d grad \"x\"\n", last+1, sum, last+1)
		for i := range gathers {
			fmt.Fprintf(&b, "  result %%%d grad \"l.{i}.w%d\"\n", 104+4*i, i)
		}
		b.WriteString(`end

func @sum class=kernel kind=map
  arg %0 : f32[b=4] in
  arg %1 : f32[b=4] in
  %2 : f32[b=4] = add %0, %1
  result %2 out
end

func @part class=kernel kind=map
  arg %0 : f32[b=4] in
  %1 : i32[] = coordinate over=(dp)
  %2 : i32[] = const dtype=i32 value=0.0
  %3 : bool[] = eq %1, %2
  %4 : f32[] = const dtype=f32 value=0.0
  %5 : f32[b=4] partial(dp) = select %3, %0, %4
  result %5 out
end
`)
		m := parse(t, b.String())
		before := m.Clone()
		if err := overlap.Run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
		if errs := append(verify.Module(m), overlap.Check(m.Unrolled())...); len(errs) > 0 {
			t.Fatalf("%d gathers: %v\n%s", gathers, errs, ir.Print(m))
		}
		started := 0
		for _, o := range m.Func("step").Ops {
			if o.Start {
				started++
			}
		}
		if started < 2*gathers-1 {
			t.Errorf("%d of %d collectives are started", started, 2*gathers)
		}
		passtest.Numbered(t, before, m)
	}
}

// TestIterationsProved breaks what is under way in a run, which the verifier must see.
func TestIterationsProved(t *testing.T) {
	const start, done = "    %3 : f32[b=4] = all_gather %1 ahead=1 axis=b over=(dp) parts=2 start=true // l.{i}\n", "    %4 : f32[b=4] = done %3 // l.{i}\n"
	if errs := verify.Module(parse(t, gathering(3, 1))); len(errs) > 0 {
		t.Fatal(errs)
	}
	for name, edits := range map[string][]string{
		"done before its start":     {"done %3 //", "done %3 ahead=2 //"},
		"read before it is done":    {"fn=@sum //", "ahead=1 fn=@sum //"},
		"read while under way":      {"call %2, %4", "call %2, %3", done, ""},
		"never done":                {done, "", "call %2, %4", "call %2, %0"},
		"not started":               {" start=true", ""},
		"done behind the run":       {done, "", "call %2, %4", "call %2, %0", "  end for\n", "  end for\n  %4 : f32[b=4] = done %3 // l\n"},
		"done in another run":       {done, "", "call %2, %4", "call %2, %0", "  end for\n", "  end for\n  for l\n" + done + "  end for\n"},
		"reads what enters, ahead":  {start, "    %7 : f32[b=2@dp] = shard_slice %2 axis=b over=(dp) parts=2 // l.{i}\n" + strings.Replace(start, "%1", "%7", 1)},
		"leaves before it is there": {"fn=@sum //", "ahead=-1 fn=@sum //"},
	} {
		m := parse(t, gathering(3, 1, edits...))
		if errs := verify.Module(m); len(errs) == 0 {
			t.Errorf("%s is not refused", name)
		}
	}
}
