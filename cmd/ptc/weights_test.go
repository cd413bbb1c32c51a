package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// llamaFolder is a copy of a model that transformers wrote.
func llamaFolder(t *testing.T) string { return folderOf(t, "llama") }

func folderOf(t *testing.T, family string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), family)
	if err := os.CopyFS(dir, os.DirFS("../../bench/hf/testdata/"+family)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A model is imported, trained and exported, with its tokenizer, and imported again.
func TestImportTrainExport(t *testing.T) {
	dir := llamaFolder(t)
	t.Chdir(t.TempDir())
	write(t, filepath.Join(dir, "tokenizer.json"), "{}")
	must(t, "import", dir, "-o", "m")
	must(t, "fmt", "--check", "m/model.ptl")
	must(t, "compile", "m/model.ptl", "--target", "ref", "--set", "batch=2", "--set", "seq=8", "-q", "-o", "p.bin")
	must(t, "export", "m/init.safetensors", "--plan", "p.bin", "-o", "same")
	must(t, "import", "same", "-o", "again")
	if read(t, "m/init.safetensors") != read(t, "again/init.safetensors") {
		t.Error("what is exported and imported again differs")
	}
	if read(t, "same/tokenizer.json") != "{}" {
		t.Error("the tokenizer is not copied")
	}
	must(t, "export", "m/init.safetensors", "--plan", "p.bin", "--format", "gguf", "--dtype", "bf16", "-o", "m.gguf")
	if !strings.HasPrefix(read(t, "m.gguf"), "GGUF") {
		t.Error("not a GGUF file")
	}
	if r := ptc(t, "export", "m/init.safetensors", "--plan", "p.bin", "-o", "same"); r.code != exitFile || !strings.Contains(r.err, "not empty") {
		t.Errorf("over a folder: %d, %s", r.code, r.err)
	}
	// A plan that is made anew of its sources has the same names.
	must(t, "verify", "p.bin", "--sources")
	for _, args := range [][]string{{"import", dir}, {"export", "m/init.safetensors", "--plan", "p.bin"}} {
		if r := ptc(t, append(args, "-o", "no/where")...); r.code != exitFile || !strings.Contains(r.err, "cannot make no/where: no such file") {
			t.Errorf("below no folder: %d, %s", r.code, r.err)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		code   int
		want   string
	}{
		"family":  {replaceIn("config.json", `"llama"`, `"lama"`), exitInput, "did you mean `llama`?"},
		"no type": {replaceIn("config.json", `"model_type"`, `"kind"`), exitInput, "config.json lacks model_type"},
		"config":  {replaceIn("config.json", `"hidden_size": 8,`, ``), exitFile, "config.json lacks hidden_size, and LlamaConfig of transformers takes 4096"},
		"act":     {replaceIn("config.json", `"silu"`, `"relu"`), exitInput, `hidden_act = "relu"`},
		"shape":   {replaceIn("config.json", `"vocab_size": 11`, `"vocab_size": 12`), exitFile, "the model's is [12 8]"},
		"missing": {replaceIn("config.json", `"num_hidden_layers": 2`, `"num_hidden_layers": 3`), exitFile, "lacks model.layers.2."},
		"extra":   {replaceIn("config.json", `"num_hidden_layers": 2`, `"num_hidden_layers": 1`), exitFile, "does not: model.layers.1."},
		"half": {func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, "model.safetensors"), 3000); err != nil {
				t.Fatal(err)
			}
		}, exitFile, "model.safetensors"},
		"none": {func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "config.json")); err != nil {
				t.Fatal(err)
			}
		}, exitFile, "config.json"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := llamaFolder(t)
			t.Chdir(t.TempDir())
			c.change(t, dir)
			r := ptc(t, "import", dir, "-o", "m")
			if r.code != c.code || !strings.Contains(r.err, c.want) {
				t.Errorf("exit code %d, %s; want %d, %q", r.code, r.err, c.code, c.want)
			}
			if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func replaceIn(file, old, text string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		path := filepath.Join(dir, file)
		was := read(t, path)
		if !strings.Contains(was, old) {
			t.Fatalf("%s lacks %s", file, old)
		}
		write(t, path, strings.ReplaceAll(was, old, text))
	}
}

// The layers of Gemma 2 are pairs of one that sees a window and one that sees all, as its
// config says or leaves out.
func TestImportGemma2Layers(t *testing.T) {
	const first = `"hidden_size": 8,`
	for config, want := range map[string]string{
		`"layer_types": ["sliding_attention", "full_attention"],`:    "",
		`"layer_types": ["full_attention", "sliding_attention"],`:    `layer_types = ["full_attention","sliding_attention"]`,
		`"layer_types": ["sliding_attention", "sliding_attention"],`: "layer_types = ",
		`"layer_types": "full_attention",`:                           "layer_types = ",
		`"use_bidirectional_attention": true,`:                       "use_bidirectional_attention = true",
	} {
		dir := folderOf(t, "gemma2")
		path := filepath.Join(dir, "config.json")
		text := regexp.MustCompile(`(?s)"layer_types": \[.*?\],|"use_bidirectional_attention": null,`).ReplaceAllString(read(t, path), "")
		write(t, path, strings.Replace(text, first, first+config, 1))
		r := ptc(t, "import", dir, "-o", filepath.Join(t.TempDir(), "m"))
		if (r.code == exitOK) != (want == "") || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit code %d, %s; want %q", config, r.code, r.err, want)
		}
	}
	dir := folderOf(t, "gemma2")
	replaceIn("config.json", `"num_hidden_layers": 2`, `"num_hidden_layers": 3`)(t, dir)
	if r := ptc(t, "import", dir, "-o", filepath.Join(t.TempDir(), "m")); r.code != exitInput || !strings.Contains(r.err, "expected an even number") {
		t.Errorf("an odd number of layers: exit code %d, %s", r.code, r.err)
	}
}

// Rope that is stretched by 1 is not stretched: the import takes it, the export gives it back, and
// the model computes what it does without.
func TestImportRopeStretchedByOne(t *testing.T) {
	dir := llamaFolder(t)
	const plain = `"rope_type": "default"`
	t.Chdir(t.TempDir())
	must(t, "import", dir, "-o", "plain")
	replaceIn("config.json", plain, `"rope_type": "llama3", "factor": 1.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8`)(t, dir)
	must(t, "import", dir, "-o", "one")
	var found []string
	for _, name := range []string{"plain", "one"} {
		must(t, "compile", name+"/model.ptl", "--target", "ref", "--set", "batch=2", "--set", "seq=8", "-q", "-o", name+".bin", "--sample")
		found = append(found, must(t, "sample", name+".bin", "--init", name+"/init.safetensors", "--prompt-ids", "1,2,3", "--greedy", "--json").out)
	}
	if found[0] != found[1] || found[0] == "" {
		t.Errorf("the models write\n%s%s", found[0], found[1])
	}
	must(t, "export", "one/init.safetensors", "--plan", "one.bin", "-o", "back")
	if text := read(t, "back/config.json"); !strings.Contains(text, `"rope_type": "llama3"`) {
		t.Errorf("exported as\n%s", text)
	}
	must(t, "import", "back", "-o", "again")
	replaceIn("config.json", `"factor": 1.0, `, `"factor": 1.0, "beta_fast": 2, `)(t, dir)
	replaceIn("config.json", `"llama3"`, `"yarn"`)(t, dir)
	if r := ptc(t, "import", dir, "-o", "yarn"); r.code != exitInput || !strings.Contains(r.err, "rope_type") {
		t.Errorf("yarn: exit code %d, %s", r.code, r.err)
	}
}

func TestExportRefuses(t *testing.T) {
	dir := llamaFolder(t)
	t.Chdir(t.TempDir())
	must(t, "import", dir, "-o", "m")
	must(t, "new", "other")
	must(t, "compile", "other/model.ptl", "--target", "ref", "-q", "-o", "other.bin")
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no plan":  {[]string{"-o", "x"}, exitUsage, "--plan"},
		"no names": {[]string{"--plan", "other.bin", "-o", "x"}, exitInput, "no names for hf"},
		"size":     {[]string{"--plan", "other.bin", "-o", "x", "--max-shard-size", "2 XB"}, exitUsage, "no size"},
		"format":   {[]string{"--plan", "other.bin", "-o", "x", "--format", "hg"}, exitUsage, "gguf"},
	} {
		r := ptc(t, append([]string{"export", "m/init.safetensors"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.err, c.want) {
			t.Errorf("%s: exit code %d, %s; want %d, %q", name, r.code, r.err, c.code, c.want)
		}
	}
}
