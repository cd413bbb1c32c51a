package jinja

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

// TestVectors: every template of testdata/vectors.json renders as Jinja2 rendered it,
// and one that Jinja2 refused is an error. bench/chat writes the file.
func TestVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vars  map[string]json.RawMessage `json:"vars"`
		Cases []struct {
			Source string
			Text   *string
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	vars := map[string]Value{}
	for k, raw := range file.Vars {
		if vars[k], err = FromJSON(raw); err != nil {
			t.Fatal(k, err)
		}
	}
	if len(file.Cases) < 150 {
		t.Fatalf("%d cases", len(file.Cases))
	}
	for _, c := range file.Cases {
		var r Rendered
		tmpl, err := Parse(c.Source)
		if err == nil {
			r, err = tmpl.Render(vars, time.Time{})
		}
		switch {
		case c.Text == nil && err == nil:
			t.Errorf("%s\nis %q, and Jinja2 refuses it", c.Source, r.Text)
		case c.Text != nil && err != nil:
			t.Errorf("%s\nis an error: %v\nJinja2 gives %q", c.Source, err, *c.Text)
		case c.Text != nil && *c.Text != r.Text:
			t.Errorf("%s\nis        %q\nin Jinja2 %q", c.Source, r.Text, *c.Text)
		}
	}
}
