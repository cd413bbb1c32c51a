package validate_test

import (
	"strings"
	"testing"
)

// In a run, when an instance of an operation comes has no part in what it computes: a
// gather that is ahead and a reduction that is done behind keep every number, and one
// that is done in the place of another does not.
func TestAhead(t *testing.T) {
	const plain = `ptir 1 local "m"
mesh dp=2
func @step class=entry
  stack l count=3
  arg %0 : f32[b=4] data "x"
  arg %1 : f32[b=2@dp] each l param "l.{i}.v"
  arg %2 : f32[b=2@dp] each l param "l.{i}.w"
  for l
    %3 : f32[b=4] = enter %0 // l.{i}
    %4 : f32[b=4] = all_gather %1 axis=b over=(dp) parts=2 // l.{i}
    %5 : f32[b=4] = all_gather %2 axis=b over=(dp) parts=2 // l.{i}
    %6 : f32[b=4] = mul %3, %4 // l.{i}
    %7 : f32[b=4] = sub %6, %5 // l.{i}
    %8 : f32[b=4] = leave %3, %7 // l.{i}
  end for
  for l down
    %10 : f32[b=2@dp] = neg %1 // l.{i}
    %11 : f32[b=4] = all_gather %10 axis=b over=(dp) parts=2 // l.{i}
  end for
  result %8 grad "x"
  result %11 grad "l.{i}.v"
end
`
	started := strings.NewReplacer(
		"%4 : f32[b=4] = all_gather %1 axis=b over=(dp) parts=2", "%20 : f32[b=4] = all_gather %1 ahead=1 axis=b over=(dp) parts=2 start=true",
		"%5 : f32[b=4] = all_gather %2 axis=b over=(dp) parts=2 // l.{i}", `%21 : f32[b=4] = all_gather %2 ahead=2 axis=b over=(dp) parts=2 start=true // l.{i}
    %4 : f32[b=4] = done %20 // l.{i}
    %5 : f32[b=4] = done %21 ahead=1 // l.{i}`,
		"%10 : f32[b=2@dp] = neg %1", "%10 : f32[b=2@dp] = neg %1 ahead=1",
		"%11 : f32[b=4] = all_gather %10 axis=b over=(dp) parts=2 // l.{i}", `%22 : f32[b=4] = all_gather %10 axis=b over=(dp) parts=2 start=true // l.{i}
    %11 : f32[b=4] = done %22 ahead=-1 // l.{i}`).Replace(plain)
	if err := compare(t, plain, started); err != nil {
		t.Error(err)
	}
	for _, edit := range [][2]string{
		{"done %20 // l.{i}\n    %5 : f32[b=4] = done %21 ahead=1", "done %21 // l.{i}\n    %5 : f32[b=4] = done %20 ahead=1"},
		{"all_gather %2", "all_gather %1"},
		{"leave %3, %7", "leave %3, %6"},
		{"for l\n", "for l down\n"},
		{"neg %1", "neg %2"},
	} {
		if !strings.Contains(started, edit[0]) {
			t.Fatalf("no %q", edit[0])
		}
		if err := compare(t, plain, strings.Replace(started, edit[0], edit[1], 1)); err == nil {
			t.Errorf("%s instead of %s is taken for the same", edit[1], edit[0])
		}
	}
}
