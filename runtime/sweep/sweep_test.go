package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPoints(t *testing.T) {
	var axes []Axis
	for _, text := range []string{"lr=1e-3, 3e-3", "seed=-1..1", `text="a,\",b",f(1,[2,3])`} {
		a, err := ParseAxis(text)
		if err != nil {
			t.Fatal(err)
		}
		axes = append(axes, a)
	}
	points, err := Points(axes)
	if err != nil || len(points) != 12 {
		t.Fatalf("%d points, %v", len(points), err)
	}
	for k, want := range map[int]string{1: `lr=1e-3 seed=-1 text="a,\",b"`, 2: `lr=1e-3 seed=-1 text=f(1,[2,3])`, 3: `lr=1e-3 seed=0 text="a,\",b"`, 12: `lr=3e-3 seed=1 text=f(1,[2,3])`} {
		if p := points[k-1]; p.Number != k || p.String() != want {
			t.Errorf("point %d is %d, %s; expected %s", k, p.Number, p, want)
		}
	}
	if _, err := Points([]Axis{{"a", []string{"1"}}, {"a", []string{"2"}}}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("an axis that is there twice: %v", err)
	}
	large := Axis{"a", make([]string, MaxPoints)}
	if _, err := Points([]Axis{large, {"b", []string{"1", "2"}}}); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("too many points: %v", err)
	}
}

func TestAxesThatAreNone(t *testing.T) {
	for text, say := range map[string]string{
		"lr": "not an axis", "=1": "not an axis", "a b=1": "not an axis", "lr=": "empty value", "lr=1,,2": "empty value",
		"n=3..1": "not a range", "n=0..100000": "not a range", "n=0..99999999999999999999": "not a range",
		"n=-9223372036854775808..9223372036854775807": "not a range", "n=1,2,1": "twice", "n=1..3,2": "twice",
	} {
		if a, err := ParseAxis(text); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %+v, %v; expected %s", text, a, err, say)
		}
	}
	if a, err := ParseAxis("n=9223372036854775806..9223372036854775807"); err != nil || len(a.Values) != 2 {
		t.Errorf("the last numbers: %+v, %v", a, err)
	}
}

func f(x float64) *float64 { return &x }

func TestResults(t *testing.T) {
	dir := t.TempDir()
	p := Point{2, []Setting{{"lr", "1e-3"}, {"seed", "2"}}}
	if r, err := Load(dir, 2); r != nil || err != nil {
		t.Errorf("of a point that was not run: %+v, %v", r, err)
	}
	r := &Result{Point: 2, Settings: p.Settings, Model: "m", Steps: 7, Loss: f(0.1), ValLoss: f(1.0 / 3)}
	if err := MkdirAll(dir, 2); err != nil {
		t.Fatal(err)
	}
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Load(dir, 2)
	if diff := cmp.Diff(r, got); err != nil || diff != "" {
		t.Errorf("%v, - saved, + loaded:\n%s", err, diff)
	}
	if err := got.Of(p, "m"); err != nil {
		t.Error(err)
	}
	if err := got.Of(Point{2, []Setting{{"lr", "1e-3"}, {"seed", "3"}}}, "m"); err == nil || !strings.Contains(err.Error(), "it is of lr=1e-3 seed=2, but point 2 of this sweep is lr=1e-3 seed=3") {
		t.Errorf("of other settings: %v", err)
	}
	if err := got.Of(p, "n"); err == nil {
		t.Error("of another model, and taken")
	}
	path := filepath.Join(Dir(dir, 2), resultName)
	for _, text := range []string{"", "{", `{"point":3}`, `{"point":2,"x":1}`, `{"point":2}{}`, "[]", strings.Repeat(" ", maxResult+1)} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if r, err := Load(dir, 2); err == nil {
			t.Errorf("%.20q is taken as %+v", text, r)
		}
	}
}

func TestTables(t *testing.T) {
	set := func(v string) []Setting { return []Setting{{"lr", v}} }
	all := []Result{
		{Point: 1, Settings: set("1e-3"), Steps: 5, Loss: f(0.5), ValLoss: f(1.0 / 3)},
		{Point: 2, Settings: set("f(1,2)"), Steps: 5, Loss: f(0.25), ValLoss: f(0.125)},
		{Point: 3, Settings: set("9"), Steps: 2, ValLoss: f(0), Error: "the loss is NaN,\nand more"},
	}
	text, err := CSV(all)
	if diff := cmp.Diff("point,lr,steps,loss,val_loss,error\n1,1e-3,5,0.5,0.3333333333333333,\n2,\"f(1,2)\",5,0.25,0.125,\n3,9,2,,0,\"the loss is NaN,\nand more\"\n", string(text)); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if diff := cmp.Diff(`point  lr      steps  loss    val_loss  error
1      1e-3    5      0.5000  0.3333
2      f(1,2)  5      0.2500  0.1250                               best
3      9       2      -       0.0000    the loss is NaN, and more
`, Table(all)); diff != "" {
		t.Errorf("- expected, + found:\n%s", diff)
	}
	if Best(nil) != -1 || Best(all[2:]) != -1 {
		t.Error("the best of none")
	}
	for i := range all {
		all[i].ValLoss = nil
	}
	if Best(all) != 1 {
		t.Error("without validation the loss of the last step counts")
	}
}

// TestColumnsDiffer: a setting may have the name of a figure.
func TestColumnsDiffer(t *testing.T) {
	r := Result{Point: 1, Settings: []Setting{{"steps", "30"}, {"loss", "2"}, {"lr", "1"}}, Steps: 20}
	text, err := CSV([]Result{r})
	if diff := cmp.Diff("point,over.steps,over.loss,lr,steps,loss,val_loss,error\n1,30,2,1,20,,,\n", string(text)); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// FuzzDecode: what lies in a folder never panics.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"point":2,"settings":[{"name":"lr","value":"1"}],"loss":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, err := decode(text); err == nil && r == nil {
			t.Error("neither a result nor an error")
		}
	})
}
