package compiler_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ptc/compiler"
	"ptc/runtime/program"
)

// stored is a plan as it comes from a file, and its bytes.
func stored(t *testing.T, p *program.Plan) (*program.Plan, []byte) {
	t.Helper()
	data, err := program.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = program.Decode(data); err != nil {
		t.Fatal(err)
	}
	return p, data
}

// TestRebuildGivesTheSameBytes: sources, config and layout in a plan are all that
// its other parts follow from.
func TestRebuildGivesTheSameBytes(t *testing.T) {
	root := filepath.Join("..", "examples")
	for _, c := range []struct {
		file, layout string
		set          []string
	}{
		{"mlp/mlp.ptl", "", nil},
		{"gpt/gpt.ptl", "", []string{"layers=2", "batch=4", "corpus=a \"b\"/**/*.go "}},
		{"gpt/gpt.ptl", "three_d", []string{"layers=2", "ffn=3 * embed"}},
		{"llama/llama.ptl", "", []string{"layers=1", "batch=2", "seq=16"}},
		{"layouts/moe.ptl", "", nil},
		{"layouts/fsdp.ptl", "", nil},
	} {
		t.Run(c.file+" "+c.layout, func(t *testing.T) {
			dir := filepath.Join(root, filepath.Dir(c.file))
			src, err := os.ReadFile(filepath.Join(root, c.file))
			if err != nil {
				t.Fatal(err)
			}
			read, err := compiler.ImportsBelow(root, dir)
			if err != nil {
				t.Fatal(err)
			}
			p, _, err := compiler.Compile(compiler.Options{File: filepath.Base(c.file), Source: src, Read: read, Layout: c.layout, Target: "ref", Set: c.set})
			if err != nil {
				t.Fatal(err)
			}
			p, want := stored(t, p)
			stranger := *p
			stranger.Code = []program.Code{{Kind: "elf", Data: []byte("something else")}}
			stranger.Kernels, stranger.Devices, stranger.Data = nil, nil, program.Data{}
			again, _, err := compiler.Rebuild(&stranger, "")
			if err != nil {
				t.Fatal(err)
			}
			again, got := stored(t, again)
			if !bytes.Equal(got, want) {
				t.Errorf("other bytes; the plans differ in %v", compiler.Differences(p, again))
			}
		})
	}
}

// TestRebuildTakesTheLibraryOfThePlan: the model stays what it was where the
// standard library has changed since.
func TestRebuildTakesTheLibraryOfThePlan(t *testing.T) {
	src, err := os.ReadFile("../examples/mlp/mlp.ptl")
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := compiler.Compile(compiler.Options{File: "mlp.ptl", Source: src, Target: "ref"})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range p.Sources {
		if strings.HasPrefix(s.Name, "std/") {
			p.Sources[i].Text = "// of another release\n" + s.Text
		}
	}
	again, _, err := compiler.Rebuild(p, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range again.Sources {
		if s.Text != p.Sources[i].Text {
			t.Errorf("%s is not the plan's", s.Name)
		}
	}
}

// TestRebuildReadsNoFile: what a plan does not hold is an error, also where a
// file of that name is there.
func TestRebuildReadsNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("there.ptl", []byte("fn twice(x) { return x + x }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"there.ptl", "../there.ptl", "std.other"} {
		text := "import \"" + name + "\"\n"
		if strings.HasPrefix(name, "std.") {
			text = "import " + name + "\n"
		}
		_, _, err := compiler.Rebuild(&program.Plan{Target: "ref", Sources: []program.Source{{Name: "m.ptl", Text: text}}}, "")
		if err == nil || !strings.Contains(err.Error(), "E0212") {
			t.Errorf("import of %s: %v", name, err)
		}
	}
	if _, _, err := compiler.Rebuild(&program.Plan{}, ""); err == nil || !strings.Contains(err.Error(), "E0231") {
		t.Errorf("a plan without sources: %v", err)
	}
}

// TestDifferencesLookAtEveryPart: no field of a plan is left out.
func TestDifferencesLookAtEveryPart(t *testing.T) {
	for i := range reflect.TypeFor[program.Plan]().NumField() {
		var p program.Plan
		f := reflect.ValueOf(&p).Elem().Field(i)
		switch f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int64:
			f.SetInt(1)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			setAny(t, f.Elem())
		default:
			setAny(t, f)
		}
		if d := compiler.Differences(&p, &program.Plan{}); len(d) != 1 {
			t.Errorf("%s: differences %v", reflect.TypeFor[program.Plan]().Field(i).Name, d)
		}
	}
}

// setAny changes the first field of a struct that can be changed simply.
func setAny(t *testing.T, v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
			return
		case reflect.Int, reflect.Int64:
			f.SetInt(1)
			return
		}
	}
	t.Fatalf("%v has no simple field", v.Type())
}
