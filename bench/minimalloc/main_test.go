package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/passes/memory/place"
)

func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "two.rows.96.csv")
	if err := os.WriteFile(file, []byte("id,size,lower,upper\n0,64,0,3\n1,32,3,4\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	if p.name != "two.rows" || p.capacity != 96 || len(p.buffers) != 2 || p.buffers[1] != (place.Buffer{Lo: 3, Hi: 4, Size: 32}) {
		t.Errorf("%+v", p)
	}
	for _, name := range []string{"none.csv", "none.large.csv", "none.1.csv"} {
		if _, err := read(filepath.Join(t.TempDir(), name)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                        "empty",
		"id,lower,upper\n":                        `no column "size"`,
		"id,lower,upper,size\n0,1,2\n":            "wrong number of fields",
		"id,lower,upper,size\n0,1,2,much\n":       `line 2: size is "much"`,
		"id,lower,upper,size\n0,1,2,-64\n":        `line 2: size is "-64"`,
		"id,lower,upper,size\n0,1,2,3\n1,4,4,5\n": "line 3: a buffer in use from 4 to before 4",
	} {
		if _, err := parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
