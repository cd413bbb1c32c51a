package hf

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"ptc/compiler"
	"ptc/compiler/family"
	"ptc/runtime/program"
	"ptc/runtime/weights"
)

// drawn is a config that was drawn: Refused says why transformers does not take it, and Meant
// whether a model of std.models is meant to; nil where it may.
type drawn struct {
	expected
	Refused string
	Meant   *bool
}

// A config in which keys are left out, null, or defaults means what the class of transformers
// takes it for, or is refused; one that a family is meant to have is imported. What is imported
// is written to PTC_HF_EXPORTS again, for drawn.py to hold it to the original.
func TestDrawn(t *testing.T) {
	dir, out := os.Getenv("PTC_HF_DRAWN"), os.Getenv("PTC_HF_EXPORTS")
	if dir == "" {
		t.Skip("make hf-check draws configs with transformers")
	}
	list, err := filepath.Glob(filepath.Join(dir, "*", "logits.json"))
	if err != nil || len(list) == 0 {
		t.Fatalf("%d cases in %s: %v", len(list), dir, err)
	}
	same, refused, both, beyond := 0, 0, 0, 0
	for _, path := range list {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var want drawn
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			n, name, source, err := read(dir)
			init := filepath.Join(t.TempDir(), "init.safetensors")
			if err == nil {
				err = into(dir, n, init)
			}
			switch {
			case err != nil && want.Refused != "":
				both++
				return
			case err != nil:
				refused++
				if want.Meant != nil && *want.Meant {
					t.Errorf("refused: %v", err)
				}
				t.Logf("refused here alone: %v", err)
				return
			case want.Refused != "":
				beyond++
				t.Logf("transformers does not take it: %s", want.Refused)
				return
			}
			got := logits(t, name, source, init, &want.expected)
			worst := 0.0
			for i, x := range got {
				worst = max(worst, math.Abs(x-want.Logits[i]))
			}
			if len(got) != len(want.Logits) || !(worst < 1e-5) {
				t.Fatalf("%d logits of %d differ by %g", len(got), len(want.Logits), worst)
			}
			same++
			if err := export(init, n, filepath.Join(out, filepath.Base(dir))); err != nil {
				t.Error(err)
			}
		})
	}
	t.Logf("of %d configs, %d compute the same, %d are refused by ptc alone, %d by both, %d by transformers alone", len(list), same, refused, both, beyond)
	if same < len(list)/4 {
		t.Errorf("only %d of %d configs were compared", same, len(list))
	}
}

// read is what `ptc import` makes of a folder's config: the names, the family and the source.
func read(dir string) (*program.Names, string, string, error) {
	c, err := weights.ReadConfig(dir)
	if err != nil {
		return nil, "", "", err
	}
	if c, err = c.Read(); err != nil {
		return nil, "", "", err
	}
	kind, _ := c.Get("model_type")
	source, err := family.Source(fmt.Sprint(kind), c.Get, "")
	if err != nil {
		return nil, "", "", err
	}
	names, _, err := compiler.Names(compiler.Options{File: "model.ptl", Source: []byte(source)})
	if err != nil {
		return nil, "", "", err
	}
	return &names[0], fmt.Sprint(kind), source, c.Check(&names[0])
}

func into(dir string, n *program.Names, path string) error {
	f, err := weights.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return weights.Import(f, n, path)
}

func export(path string, n *program.Names, out string) error {
	src, err := weights.OpenFile(path)
	if err != nil {
		return err
	}
	defer src.Close()
	return weights.Export(src, n, out, weights.Options{})
}
