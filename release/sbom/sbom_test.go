package sbom

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"regexp"
	"runtime/debug"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ptc/release/build"
)

func binary() *build.Binary {
	return &build.Binary{Data: []byte("binary"), Info: &buildinfo.BuildInfo{GoVersion: "go1.24.3", Deps: []*debug.Module{
		{Path: "example.org/a", Version: "v1.2.3", Sum: "h1:abc="}, {Path: "example.org/b/v2", Version: "v2.0.0", Sum: "h1:def="},
	}}}
}

func TestOf(t *testing.T) {
	text, err := Of(binary(), "1.0.0", time.Unix(1_700_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Of(binary(), "1.0.0", time.Unix(1_700_000_000, 0))
	if err != nil || !bytes.Equal(again, text) {
		t.Errorf("another list the second time (%v)", err)
	}
	var got struct {
		BomFormat, SpecVersion, SerialNumber string
		Metadata                             struct {
			Timestamp string
			Component struct {
				Name, Version string
				Hashes        []struct{ Alg, Content string }
			}
		}
		Components   []struct{ Name, Version, Purl string }
		Dependencies []struct{ DependsOn []string }
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.BomFormat != "CycloneDX" || got.SpecVersion != "1.5" || got.Metadata.Timestamp != "2023-11-14T22:13:20Z" ||
		!regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(got.SerialNumber) {
		t.Errorf("%+v", got)
	}
	if h := got.Metadata.Component.Hashes; len(h) != 1 || h[0].Alg != "SHA-256" || h[0].Content != "9a3a45d01531a20e89ac6ae10b0b0beb0492acd7216a368aa062d1a5fecaf9cd" {
		t.Errorf("hashes %v", h)
	}
	want := []struct{ Name, Version, Purl string }{
		{"std", "1.24.3", "pkg:golang/std@1.24.3"},
		{"example.org/a", "v1.2.3", "pkg:golang/example.org/a@v1.2.3"},
		{"example.org/b/v2", "v2.0.0", "pkg:golang/example.org/b/v2@v2.0.0"},
	}
	if d := cmp.Diff(want, got.Components); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if len(got.Dependencies) != 1 || len(got.Dependencies[0].DependsOn) != len(want) {
		t.Errorf("dependencies %v", got.Dependencies)
	}
}

func TestReplaced(t *testing.T) {
	b := binary()
	b.Info.Deps[0].Replace = &debug.Module{Path: "../a"}
	if _, err := Of(b, "1.0.0", time.Unix(0, 0)); err == nil {
		t.Error("a folder of somebody's is in a release")
	}
}
