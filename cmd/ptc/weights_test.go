package main

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ptc/runtime/checkpoint/safetensors/safetensorstest"
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
	must(t, "export", "m/init.safetensors", "--plan", "p.bin", "--format", "gguf", "--dtype", "bf16", "--no-tokenizer", "-o", "m.gguf")
	if r := ptc(t, "export", "m/init.safetensors", "--plan", "p.bin", "--format", "gguf", "-o", "no.gguf"); r.code != exitFile || !strings.Contains(r.err, "it has no model") {
		t.Errorf("a tokenizer that is none: %d, %s", r.code, r.err)
	}
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
		"size":     {[]string{"--plan", "other.bin", "-o", "x", "--max-shard-size", "2 XB"}, exitUsage, "not a size"},
		"format":   {[]string{"--plan", "other.bin", "-o", "x", "--format", "hg"}, exitUsage, "gguf"},
	} {
		r := ptc(t, append([]string{"export", "m/init.safetensors"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.err, c.want) {
			t.Errorf("%s: exit code %d, %s; want %d, %q", name, r.code, r.err, c.code, c.want)
		}
	}
}

// TestAdapterOut: what a lora block trains is written alone, added to the base again, and kept apart again, to the bit.
func TestAdapterOut(t *testing.T) {
	for family, c := range map[string]struct{ model, on string }{"llama": {"Llama", "blocks.*.attn.*, output"}, "gpt2": {"GPT2", "blocks.**"}} {
		t.Run(family, func(t *testing.T) { adapterOut(t, family, c.model, c.on) })
	}
}

func adapterOut(t *testing.T, family, model, on string) {
	dir := folderOf(t, family)
	t.Chdir(t.TempDir())
	must(t, "import", dir, "-o", "m")
	write(t, "tune.ptl", "import std.models."+family+"\nimport std.nn\nimport std.optim\nimport std.data\nimport \"m/model.ptl\"\n"+
		"train "+model+" {\n  loss = nn.cross_entropy("+model+"(tokens), targets, over = vocab)\n  optimizer = optim.SGD(lr = 0.5)\n  data = data.synthetic_tokens(window = seq)\n  steps = 2\n"+
		"  lora { rank = 2  alpha = 3  on = "+on+" }\n}\n")
	must(t, "compile", "tune.ptl", "--target", "ref", "--set", "batch=2", "--set", "seq=8", "-q", "-o", "p.bin")
	must(t, "run", "p.bin", "--init", "m/init.safetensors", "--save", "tuned.safetensors")
	must(t, "export", "tuned.safetensors", "--plan", "p.bin", "--format", "peft", "--base", "theirs", "-o", "adapter")
	if text := read(t, "adapter/adapter_config.json"); !strings.Contains(text, `"base_model_name_or_path": "theirs"`) {
		t.Errorf("the config is\n%s", text)
	}
	must(t, "import", dir, "--adapter", "adapter", "--plan", "p.bin", "-o", "kept")
	kept, tuned := safetensorstest.Bytes(t, "kept/init.safetensors"), safetensorstest.Bytes(t, "tuned.safetensors")
	for name, b := range tuned {
		if string(kept[name]) != string(b) {
			t.Errorf("%s: %s differs", family, name)
		}
	}
	must(t, "import", dir, "--adapter", "adapter", "-o", "added")
	must(t, "export", "tuned.safetensors", "--plan", "p.bin", "-o", "whole")
	must(t, "import", "whole", "-o", "again")
	if read(t, "added/init.safetensors") == read(t, "m/init.safetensors") || len(kept) != len(tuned) {
		t.Errorf("%s: %d tensors, not %d, or nothing is added", family, len(kept), len(tuned))
	}
	added := safetensorstest.Floats(t, "added/init.safetensors")
	for name, v := range safetensorstest.Floats(t, "again/init.safetensors") {
		for i := range v {
			if math.Abs(v[i]-added[name][i]) > 1e-6 {
				t.Fatalf("%s: %s[%d] is %g and %g", family, name, i, added[name][i], v[i])
			}
		}
	}
	for _, x := range []struct {
		args []string
		want string
	}{{[]string{"import", dir, "--plan", "p.bin", "-o", "no"}, "needs --adapter"}, {[]string{"export", "tuned.safetensors", "--plan", "p.bin", "--base", "b", "-o", "no"}, "--format peft"}} {
		if r := ptc(t, x.args...); r.code != exitUsage || !strings.Contains(r.err, x.want) {
			t.Errorf("%v: %d, %s", x.args, r.code, r.err)
		}
	}
	must(t, "compile", "m/model.ptl", "--target", "ref", "--set", "batch=2", "--set", "seq=8", "-q", "-o", "plain.bin")
	if r := ptc(t, "export", "m/init.safetensors", "--plan", "plain.bin", "--format", "peft", "-o", "no"); r.code == exitOK || !strings.Contains(r.err, "has no adapters") {
		t.Errorf("without adapters: %d, %s", r.code, r.err)
	}
	if r := ptc(t, "import", dir, "--adapter", "adapter", "--plan", "plain.bin", "-o", "no"); r.code != exitInput || !strings.Contains(r.err, "no lora block of the plan selects") {
		t.Errorf("a plan without adapters: %d, %s", r.code, r.err)
	}
}

// TestExportGGUFRefuses: what llama.cpp computes in another way is not written.
func TestExportGGUFRefuses(t *testing.T) {
	dir := folderOf(t, "gemma2")
	t.Chdir(t.TempDir())
	must(t, "import", dir, "-o", "m")
	must(t, "compile", "m/model.ptl", "--target", "ref", "--set", "batch=2", "--set", "seq=8", "-q", "-o", "p.bin")
	if r := ptc(t, "export", "m/init.safetensors", "--plan", "p.bin", "--format", "gguf", "-o", "m.gguf"); r.code == exitOK || !strings.Contains(r.err, "the root of another number") {
		t.Errorf("another scale: %d, %s", r.code, r.err)
	}
}
