package lang_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/lang"
	"ptc/lang/directive"
)

// layoutCases are layouts of examples/gpt, right and wrong, each with the code
// of its one error and a part of what is said; no code where it is right.
var layoutCases = []struct{ rules, code, says string }{
	{"", "", ""},
	{"mesh dp = 2  shard batch over dp", "", ""},
	{"mesh batch = 2  shard batch over batch", "", ""}, // names of axes and of mesh axes are apart
	{"mesh dp = 1  zero 3 over dp", "", ""},
	{"mesh tp = 2  shard kseq over tp", "", ""},
	{"mesh dp = 2, dp = 2", "E0414", "declared twice"},
	{"mesh dp = 0", "E0414", "of size 0"},
	{"mesh dp = 2.5", "E0414", "of size 2.5"},
	{"mesh dp = two", "E0201", "unknown name `two`"},
	{"mesh dp = 8192, tp = 4096", "E0414", "at most 16777216 devices in all"},
	{"mesh dp", "E0101", "expected `=`"},

	{"shard batch over dp", "E0403", "`mesh dp = 2`"},
	{"mesh dp = 2  shard batch over tp", "E0403", "did you mean `dp`?"},
	{"mesh dp = 2  shard bach over dp", "E0402", "did you mean `batch`?"},
	{"mesh dp = 2  shard batch over", "E0101", "expected `(` or a name"},
	{"mesh dp = 2  shard over dp", "E0101", "expected an axis, such as `batch`"},
	{"mesh dp = 2\nbatch over dp", "E0111", "`shard batch over …`"},
	{"mesh dp = 2  shard batch over dp, seq over dp", "E0101", "found `,`"},
	{"mesh dp = 2  shard batch over (dp, dp)", "E0405", "named twice"},
	{"mesh dp = 2  shard batch, batch over dp", "E0404", "sharded twice"},
	{"mesh dp = 2, tp = 2  shard batch over dp  shard batch over tp", "E0404", "`shard batch over (dp, tp)` shards it over both"},
	{"mesh dp = 2  shard batch over dp  shard seq over dp", "E0405", "both sharded over `dp`"},
	{"mesh tp = 2  shard embed, ffn over tp", "E0405", "both `embed` and `ffn`"},
	{"mesh dp = 3  shard batch over dp", "E0406", "a multiple of 3"},
	{"mesh tp = 8  shard heads over tp", "E0406", "`heads` is 4"},
	{"mesh tp = 2  shard seq over tp between blocks", "E0412", "the name of a module: `Block`"},
	{"mesh tp = 2  shard seq over tp between blocks.0.attn", "E0412", "the name of a module: `Attention`"},
	{"mesh tp = 2  shard heads over tp between Block", "E0402", "the result of `Block` has no axis `heads`"},
	{"mesh tp = 2  shard seq between Block over tp", "E0101", "expected `over`"},
	{"mesh tp = 2  shard ffn of blocks.*.attn over tp", "E0402", "has no axis `ffn`"},
	{"mesh cp = 2  shard seq over cp { attention = flash }", "E0415", "one of gather, ring"},
	{"mesh cp = 2  shard seq over cp { order = zigzag, attention = ring }", "E0101", "separated by a space"},
	{"mesh cp = 16  shard seq over cp { order = zigzag }", "E0406", "a multiple of 32"},
	{"mesh cp = 3  shard seq over cp { order = zigzag }", "E0406", "a multiple of 6"},

	{"mesh tp = 2  shard vocab of wte over tp  replicate wte", "E0423", "shards nothing"},
	{"mesh tp = 2, dp = 2  shard vocab of wte over tp  shard batch over dp  replicate wte over dp", "", ""},
	{"mesh tp = 2  shard ffn of blocks.*.mlp over tp  replicate blocks.0", "", ""},
	{"replicate wtee", "E0412", "did you mean `wte`?"},

	{"mesh pp = 8  pipeline blocks over pp", "E0409", "8 stages of 4 blocks"},
	{"mesh pp = 2  pipeline Block over pp", "E0408", "`blocks`, which repeats"},
	{"mesh pp = 2  pipeline blocks over pp { microbatches = 3 }", "E0407", "a divisor of 16"},
	{"accumulate = 3", "E0407", "a divisor of 16"},
	{"accumulate = 0", "E0415", "a whole number from 1"},
	{"accumulate = 2  accumulate = 2", "E0415", "a second `accumulate`"},
	{"accumulate = 4  mesh dp = 8  shard batch over dp", "E0407", "a divisor of 2"},
	{"mesh pp = 2  accumulate = 8  pipeline blocks over pp { microbatches = 4 }", "E0407", "each in the 4 microbatches of the pipeline"},
	{"mesh pp = 2  accumulate = 4  pipeline blocks over pp { microbatches = 4 }", "", ""},
	{"mesh pp = 2  pipeline blocks over pp { microbatch = 4 }", "E0415", "did you mean `microbatches`?"},
	{"mesh pp = 2  pipeline blocks over pp { schedule = zb_w }", "E0410", "did you mean `zb_v`?"},
	{"mesh pp = 2  pipeline blocks over pp { schedule = dualpipe_v }", "", ""},
	{"mesh pp = 4  pipeline blocks over pp { schedule = zb_v }", "E0409", "8 stages of 4 blocks"},
	{"mesh pp = 2  pipeline blocks over pp { stages = [3, 1] }", "", ""},
	{"mesh pp = 2  pipeline blocks over pp { stages = [1] }", "E0419", "each of 2 stages"},
	{"mesh pp = 2  pipeline blocks over pp { stages = [5, -1] }", "E0419", "from 1 to 4"},
	{"mesh pp = 2  pipeline blocks over pp { stages = [1, 2] }", "E0419", "have 3 blocks, and there are 4"},
	{"mesh pp = 2  pipeline blocks over pp  shard batch over pp", "E0421", "holds the stages"},
	{"mesh pp = 2  pipeline blocks over pp  zero 1 over pp", "E0421", "holds the stages"},

	{"mesh dp = 2  zero 1 over dp", "E0422", "`shard batch over dp`"},
	{"mesh dp = 2  shard batch over dp  zero over dp", "E0101", "expected a level, 1 to 3"},
	{"mesh dp = 2  shard batch over dp  zero 4 over dp", "E0411", "from 1 to 3"},
	{"mesh dp = 2  shard batch over dp  zero 1 over dp { prefetch = 1 }", "E0415", "nothing to prefetch"},

	{"recompute blocks", "", ""},
	{"recompute blocks.*.attn, blocks.*.mlp", "", ""},
	{"recompute Block.attn", "E0412", "did you mean `blocks.*.attn`?"},
	{"recompute Block { keep = attnn }", "E0412", "did you mean `attn`?"},
	{"recompute wte", "E0412", "is a parameter"},
	{"recompute auto", "E0420", "`recompute auto` has no limit of memory"},
	{"recompute auto  device memory = 1 GiB", "", ""},
	{"precision { compute = float16 }", "E0413", "did you mean `f16`?"},
	{"precision { compute = bfloat16 }", "E0413", "did you mean `bf16`?"},
	{"precision { compute = f16  loss_scale = 0.5 }", "", ""},
	{"precision { compute = bf16  loss_scale = dynamic }", "E0413", "without a scale"},
	{"precision bf16", "E0101", "expected `{` and the options"},

	{"device memory = 80", "E0416", "a size such as `80 GiB`"},
	{"device ram = 80 GiB", "E0415", "expected `memory`"},
	{"forbid gather", "E0417", "unknown collective `gather`"},
	{"overlap everything", "E0417", "unknown collective `everything`"},
	{"overlap none", "", ""},
	{"bucket 25 MiB", "E0101", "expected `=`"},
	{"two_level 64 KiB", "E0101", "expected `=`"},
	{"bucket = \"25 MiB\"", "E0209", "expected a number"},
	{"offload optimizer", "E0101", "expected `to`"},
	{"offload optimizer to gpu", "E0418", "unknown memory `gpu`"},
	{"offload optimizer of Block to host", "E0418", "only activations"},

	// Options that would have no effect, or no unit.
	{"mesh cp = 2  shard seq over cp { attention = gather  order = zigzag }", "E0415", "where attention gathers"},
	{"mesh cp = 2  shard seq over cp { order = zigzag  attention = gather }", "E0415", "where attention gathers"},
	{"mesh dp = 2  shard batch over dp  two_level = 1.5", "E0415", "in whole bytes"},
	{"mesh dp = 2  shard batch over dp  bucket = 0.25", "E0415", "in whole bytes"},
	{"device memory = 1024.0 + 0.5", "", ""},
	{"recompute auto { budget = 1.5 }", "E0420", "in whole bytes"},
	{"recompute auto { budget = 0.1 GiB }", "", ""},
	{"offload optimizer to host { piece = 1.5 }", "E0418", "in whole bytes"},
	{"offload activations to host { piece = 1 MiB }", "E0418", "activations are not split into pieces"},
	{"offload optimizer, activations to host { piece = 1 MiB }", "", ""},
	{"mesh dp = 2  shard batch over dp  zero 3 over dp { prefetch = 2 }  overlap none", "E0415", "`overlap` lets none run"},
	{"mesh dp = 2  shard batch over dp  overlap reduce_scatter  zero 3 over dp { prefetch = 2 }", "E0415", "`overlap` lets none run"},
	{"mesh dp = 2  shard batch over dp  zero 3 over dp { prefetch = 0 }  overlap none", "", ""},
	{"recompute Block { keep = [attn] }  recompute blocks", "E0415", "recomputed twice"},
	{"recompute Block, blocks", "", ""},
	{"recompute Attention  recompute blocks.*.mlp", "", ""},
}

// layoutSizes are those of the cases.
const layoutSizes = "config { layers = 4  batch = 16  seq = 16  embed = 16  heads = 4  head = 4  ffn = 32 }\n"

// lowerLayout lowers examples/gpt under a layout in a file of its own.
func lowerLayout(t *testing.T, rules string) (*lang.Program, *lang.Result, diag.List) {
	t.Helper()
	src := "import \"gpt.ptl\"\n" + layoutSizes + "layout l {\n" + rules + "\n}\n"
	p, errs := lang.Load("l.ptl", []byte(src), func(path string) ([]byte, error) {
		return os.ReadFile("../examples/gpt/" + path)
	})
	if len(errs) > 0 {
		return p, nil, errs
	}
	r, errs := p.Lower(lang.Options{})
	return p, r, errs
}

func TestLayouts(t *testing.T) {
	for _, c := range layoutCases {
		p, _, errs := lowerLayout(t, c.rules)
		text := diag.Plain.Render(errs, p.Source)
		switch {
		case c.code == "" && len(errs) > 0:
			t.Errorf("%s:\n%s", c.rules, text)
		case c.code == "":
		case len(errs) != 1 || errs[0].Code != c.code || !errs[0].Pos.IsValid():
			t.Errorf("%s: one %s expected, found\n%s", c.rules, c.code, text)
		case !strings.Contains(text, c.says):
			t.Errorf("%s: %q expected in\n%s", c.rules, c.says, text)
		}
	}
}

// What is allowed and probably not meant is a warning.
func TestLayoutWarnings(t *testing.T) {
	for rules, want := range map[string]string{
		"mesh dp = 2": "the 2 devices of mesh axis `dp` all do the same work",
		"mesh dp = 2, tp = 4  shard batch over dp": "the 4 devices of mesh axis `tp` all do the same work",
		"mesh dp = 1": "",
		"mesh pp = 2, dp = 2  pipeline blocks over pp  shard batch over dp": "",
		"bucket = 1 MiB":                   "`bucket` of line 4 has no effect: no devices reduce gradients",
		"overlap none":                     "`overlap` of line 4 has no effect: one device has no collectives",
		"forbid all_gather":                "`forbid` of line 4 has no effect",
		"accumulate = 1":                   "`accumulate` of line 4 has no effect: the batch has one part (W0401)",
		"accumulate = 2":                   "",
		"mesh dp = 1  shard batch over dp": "`shard` of line 4 has no effect: its mesh axes have one device",
		"mesh dp = 1, tp = 2  shard batch over dp  shard vocab over tp  zero 1 over dp": "`zero` of line 4 has no effect: its mesh axes have one device",
		"mesh dp = 1, tp = 2  shard heads over (dp, tp)  two_level = 0":                 "no rule is over a list of mesh axes",
		"mesh dp = 1  shard batch over dp  bucket = 0":                                  "`bucket` of line 4 has no effect",
		"mesh pp = 1  pipeline blocks over pp":                                          "`pipeline` of line 4 has no effect: its mesh axis has one device, and the batch is one microbatch",
		"mesh pp = 1  pipeline blocks over pp { microbatches = 2 }":                     "",
		"mesh pp = 1  pipeline blocks over pp { schedule = gpipe  microbatches = 2 }":   "`schedule` of line 4 has no effect: one device has all stages",
		"mesh tp = 2  shard embed over tp  shard embed over tp between Block":           "`shard` of line 4 has no effect: another rule shards the same in all modules",
		"mesh tp = 2  shard vocab over tp  shard seq over tp between Block":             "",
		"mesh dp = 1, tp = 2  shard vocab over tp  replicate wte over dp":               "`replicate` of line 4 has no effect",
		"two_level = 0":                                                                        "no rule is over a list of mesh axes",
		"precision { reduce = bf16 }":                                                          "`reduce` of line 4 has no effect",
		"precision { compute = bf16 }":                                                         "",
		"mesh dp = 2  shard batch over dp  replicate blocks":                                   "`replicate` of line 4 has no effect: no rule shards these parameters",
		"mesh dp = 2  shard batch over dp  zero 3 over dp  replicate blocks":                   "",
		"mesh tp = 2  shard vocab over tp  replicate wte over tp":                              "",
		"mesh dp = 2, tp = 2  shard batch over dp  shard vocab over tp  replicate wte over dp": "`replicate` of line 4 has no effect",
		"mesh dp = 2  shard batch over dp  bucket = 0  overlap none":                           "",
		"mesh node = 2, dp = 2  shard batch over (node, dp)  two_level = 64 KiB":               "",
		"mesh dp = 2  shard batch over dp  two_level = 64 KiB":                                 "no rule is over a list of mesh axes",
		"mesh pp = 2  pipeline blocks over pp { schedule = interleaved  microbatches = 2 }":    "there is nothing to interleave",
	} {
		p, r, errs := lowerLayout(t, rules)
		if len(errs) > 0 {
			t.Fatal(diag.Plain.Render(errs, p.Source))
		}
		if got := strings.Join(r.Warnings, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: warnings %q, expected %q", rules, got, want)
		}
	}
}

// Patterns of what decays, where weight decay is 0, are a warning: it may be one
// point of a sweep.
func TestDecayOfNothing(t *testing.T) {
	for args, want := range map[string]string{
		`decay = ["ln_f.gain"]`:                      "`decay` of the optimizer `SGD` has no effect: `weight_decay` is 0",
		`decay = ["ln_f.gain"], weight_decay = 0.01`: "",
	} {
		src, err := os.ReadFile("../examples/gpt/gpt.ptl")
		if err != nil {
			t.Fatal(err)
		}
		text := regexp.MustCompile(`(?m)^  optimizer = .*$`).ReplaceAllLiteralString(string(src), "  optimizer = optim.SGD(lr = 0.1, "+args+")")
		p, errs := lang.Load("gpt.ptl", []byte(text), nil)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		r, errs := p.Lower(lang.Options{})
		if len(errs) > 0 {
			t.Fatal(diag.Plain.Render(errs, p.Source))
		}
		if got := strings.Join(r.Warnings, "\n"); got != want {
			t.Errorf("%s: %q, expected %q", args, got, want)
		}
	}
}

// TestOptionsAreThoseOfTheTable: what a directive says of an option that it has not is
// the list of the table, by which editors complete.
func TestOptionsAreThoseOfTheTable(t *testing.T) {
	src := "config { n = 4  batch = 2  k = 3 }\nimport std.data\nimport std.optim\n" +
		"module B { param w : [n, k] ~ zeros  fn apply(x: [batch, n]) { return dot(x, w, over = n) } }\n" +
		"model Net { b : B\n fn apply(x) { return b(x) } }\n" +
		"train Net { loss = mean(Net(x)) + mean(y)  optimizer = optim.AdamW(lr = 1e-2)  data = data.synthetic(n, k) }\n"
	forms := map[string]string{"shard": "shard n over d", "zero": "zero 1 over d", "pipeline": "pipeline b over d", "recompute": "recompute B",
		"precision": "precision", "offload": "offload optimizer to host", "device": "device nope = 1"}
	for _, row := range directive.Forms() {
		if len(row.Keys) == 0 {
			continue
		}
		var names []string
		for _, k := range row.Keys {
			names = append(names, k.Name)
		}
		form := forms[row.Word]
		if row.Word != "device" {
			form += " { nope = 1 }"
		}
		p, errs := lang.Load("t.ptl", []byte(src+"layout l { mesh d = 2\n "+form+" }"), nil)
		if len(errs) > 0 {
			t.Fatalf("%s: %v", row.Word, errs)
		}
		_, errs = p.Lower(lang.Options{})
		want := strings.TrimPrefix(diag.OneOf(names), "one of ")
		found := false
		for _, e := range errs {
			found = found || strings.TrimPrefix(e.Want, "one of ") == want
		}
		if !found {
			t.Errorf("%s: no mistake wants %s: %v", row.Word, want, errs)
		}
	}
}

// TestWatch: what expressions evaluate to is told as it is found, in a program of which
// a declaration does not parse; and the lowering ends where nobody wants more.
func TestWatch(t *testing.T) {
	src, err := os.ReadFile("../examples/mlp/mlp.ptl")
	if err != nil {
		t.Fatal(err)
	}
	p, errs := lang.LoadPart("mlp.ptl", append(src, "\nfn broken(x) {\n  y = x +\n  return y\n}\n"...), nil)
	if len(errs) != 1 || p.Main.Tree == nil {
		t.Fatalf("%v", errs)
	}
	seen := 0
	r, errs := p.Lower(lang.Options{Watch: func(s lang.Seen) bool {
		seen++
		return true
	}})
	if r == nil || len(errs) > 0 || seen < 50 {
		t.Fatalf("%d values, %v", seen, errs)
	}
	all := seen
	seen = 0
	r, errs = p.Lower(lang.Options{Watch: func(lang.Seen) bool {
		seen++
		return seen < 20
	}})
	if r != nil || len(errs) > 0 || seen != 20 {
		t.Errorf("ended after 20 of %d values: %d, %v, %v", all, seen, r, errs)
	}
	if _, declared := p.Main.Funcs["broken"]; !declared {
		t.Error("what is left of a function without the lines at fault is not declared")
	}
}
