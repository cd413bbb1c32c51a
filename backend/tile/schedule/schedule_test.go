package schedule

import (
	"math/rand"
	"strings"
	"testing"
)

// TestText holds text and struct to be each other's inverse, for random schedules.
func TestText(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	seen := map[Schedule]bool{}
	for range 500 {
		n := func() int64 { return int64(r.Intn(3) * r.Intn(1000)) }
		s := Schedule{
			Rows: n(), Cols: n(), Over: n(), Task: n(), Grid: int64(r.Intn(4) - 1), Raster: Raster(r.Intn(len(rasters))), Group: n(),
			Dot: Dot{DotKind(r.Intn(len(dots))), n(), n(), n()}, Left: Pack(r.Intn(len(packs))), Right: Pack(r.Intn(len(packs))),
			Stages: n(), Split: n(), Warps: n(), Producers: n(), Persistent: n(), Cluster: n(),
		}
		got, err := Parse(s.String())
		if err != nil || got != s {
			t.Fatalf("%+v as %q is %+v, %v", s, s, got, err)
		}
		seen[s] = true
	}
	if len(seen) < 400 {
		t.Errorf("%d different schedules of 500", len(seen))
	}
	if s := (Schedule{}).String(); s != "" {
		t.Errorf("the zero schedule is %q", s)
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"rows=-1":             `rows is "-1"; expected a number from 0`,
		"rows=4 rows=5":       "rows twice",
		"rows":                `rows is ""`,
		"width=3":             `unknown "width"; expected one of rows, cols`,
		"raster=spiral":       `raster is "spiral"; expected one of rows, cols, groups`,
		"left=often":          "expected one of none, task, phase",
		"dot=mma(1x2)":        "expected a tile as in",
		"dot=mma(1x2x3":       "expected a tile as in",
		"dot=mma(1x2x-3)":     "a tile of numbers",
		"dot=tensor":          "expected one of fma, pair, mma, wgmma",
		"split=9999999999999": "expected a number",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}
