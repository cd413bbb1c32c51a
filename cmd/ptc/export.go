package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ptc/internal/dtype"
	"ptc/internal/regular"
	"ptc/runtime/checkpoint"
	"ptc/runtime/program"
	"ptc/runtime/storage"
	"ptc/runtime/weights"
)

type exportFlags struct {
	plan, out, like, base string
	format, dtype         choice
	shard                 string
	bare                  bool // without the tokenizer
}

const exportLong = `Write parameters as other programs read them.

CHECKPOINT is a file of "ptc run --save", a checkpoint, or a folder of checkpoints, of
which the latest is read. The plan maps parameters to the names of other programs, by
the block ` + "`names`" + ` of the model's source; each model of std.models has one.

--format hf writes a folder for from_pretrained of transformers: config.json, and
model.safetensors, or shards of at most --max-shard-size with their index. The tokenizer
files are copied from the folder that "ptc import" wrote, or from --like. --format gguf
writes a file for llama.cpp with the model's sizes, tensors, and tokenizer, unless
--no-tokenizer is given. --format peft writes only the low-rank adapters, a folder for
PeftModel.from_pretrained, for the model that --base names.

The other formats add low-rank adapters to their parameters. Elements are unchanged,
or rounded to --dtype. A file or folder appears complete or not at all, and a folder
must be new or empty.`

func newExport(a *app) *cobra.Command {
	f := exportFlags{format: choice{value: "hf", words: []string{"hf", "gguf", "peft"}}, dtype: choice{words: []string{"f32", "bf16", "f16"}}}
	cmd := &cobra.Command{
		Use:   "export CHECKPOINT --plan PLAN -o OUT [flags]",
		Short: "Write parameters for other programs",
		Long:  exportLong,
		Example: `  ptc export trained.safetensors --plan llama.bin -o llama-tuned
  ptc export ckpt/ --plan llama.bin --dtype bf16 --max-shard-size 2GB -o llama-tuned
  ptc export trained.safetensors --plan llama.bin --format gguf -o llama.gguf
  ptc export ckpt/ --plan tune.bin --format peft --base Llama-3.2-1B -o adapter`,
		Args: exactly("CHECKPOINT"),
	}
	fl := cmd.Flags()
	fl.StringVar(&f.plan, "plan", "", "the `PLAN` of the parameters")
	fl.StringVarP(&f.out, "output", "o", "", "write the folder or file `OUT`")
	fl.StringVar(&f.like, "like", "", "copy the tokenizer from the folder `DIR` (default the one that was imported)")
	fl.StringVar(&f.base, "base", "", "with --format peft: the folder or name `MODEL` of the adapters' base model (default that of config.json)")
	fl.Var(&f.format, "format", "write for transformers, `hf`, for llama.cpp, gguf, or the adapters alone, peft")
	fl.BoolVar(&f.bare, "no-tokenizer", false, "with --format gguf: leave the tokenizer out")
	fl.Var(&f.dtype, "dtype", "round elements to `f32`, bf16 or f16 (default as they are)")
	fl.StringVar(&f.shard, "max-shard-size", "", "begin a new file after `SIZE`, such as 2GB (default 5GiB)")
	complete(cmd, "format", func([]string) []string { return f.format.words })
	complete(cmd, "dtype", func([]string) []string { return f.dtype.words })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case f.plan == "":
			return usagef("--plan PLAN is missing: it says what other programs call the parameters")
		case f.out == "":
			return usagef("-o OUT is missing")
		case f.base != "" && f.format.value != "peft":
			return usagef("--base says what adapters are of, and is for --format peft")
		}
		return a.export(args[0], &f)
	}
	return cmd
}

func (a *app) export(path string, f *exportFlags) error {
	o := weights.Options{}
	if f.dtype.value != "" {
		o.DType, _ = dtype.Parse(f.dtype.value) // one of the words
	}
	if f.shard != "" {
		n, err := parseSize(f.shard)
		if err != nil {
			return usagef("--max-shard-size: %w", err)
		}
		o.Shard = n
	}
	if err := keepsInputs(f.out, path, f.plan); err != nil {
		return err
	}
	plan, err := readPlan(f.plan)
	if err != nil {
		return err
	}
	format := f.format.value
	if format == "peft" { // whose names are those of transformers
		format = "hf"
	}
	n := namesFor(plan.Names, format)
	if n == nil {
		return inputf("the plan %s has no names for %s: the file of the model %s needs a block `names … { format = %s … }`", f.plan, format, plan.Name, format)
	}
	if f.format.value == "peft" {
		return a.exportAdapter(path, plan, n, f, o)
	}
	unsaid, err := weights.Unsaid(n)
	if err != nil {
		return fileError(err)
	}
	for _, k := range unsaid {
		a.message("note", fmt.Sprintf("the names of %s do not say what %s is, and %s of transformers takes %s", n.Family, k.Key, k.Class, k.Value))
	}
	src, closeSource, err := openSource(path)
	if err != nil {
		return fileError(err)
	}
	defer closeSource()
	if src, err = weights.Merged(src, plan); err != nil {
		return fileError(err)
	}
	defer a.signals.hold()()
	if o.Origin = f.like; o.Origin == "" {
		o.Origin = a.origin(plan)
	}
	if f.format.value == "gguf" {
		if f.bare {
			o.Origin = ""
		}
		tokens := false
		if tokens, err = weights.ExportGGUF(src, n, namesFor(plan.Names, "hf"), f.out, o); err == nil && !tokens && !f.bare {
			a.message("note", fmt.Sprintf("%s has no tokenizer: there is none in the folder that was imported; --like names another", f.out))
		}
	} else {
		err = weights.Export(src, n, f.out, o)
	}
	if err != nil {
		return fileError(exportError(path, f.out, err))
	}
	return a.print(fmt.Sprintf("%s -> %s: %s, %d tensors\n", path, f.out, n.Architecture, len(n.Tensors)))
}

// exportAdapter writes the adapters of a plan alone.
func (a *app) exportAdapter(path string, plan *program.Plan, n *program.Names, f *exportFlags, o weights.Options) error {
	src, closeSource, err := openSource(path)
	if err != nil {
		return fileError(err)
	}
	defer closeSource()
	defer a.signals.hold()()
	if o.Base = f.base; o.Base == "" {
		if folder := cmp.Or(f.like, a.origin(plan)); folder != "" {
			o.Base = weights.NameOf(folder)
		}
	}
	count, err := weights.ExportAdapter(src, plan, n, f.out, o)
	if err != nil {
		return fileError(exportError(path, f.out, err))
	}
	return a.print(fmt.Sprintf("%s -> %s: adapters of %s, %d modules\n", path, f.out, n.Architecture, count))
}

// exportError names the place that cannot be written, where that is what is wrong, and else what was to be.
func exportError(path, out string, err error) error {
	if st, e := os.Stat(out); e == nil && !st.IsDir() && errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("cannot write %s: it is %s, and a folder is to be made", out, regular.Kind(st.Mode()))
	}
	return fmt.Errorf("cannot export %s: %w", path, cause(err))
}

// origin is the folder that the model was imported to, as the plan's config has it; empty,
// with a word about it, where it is no longer there.
func (a *app) origin(plan *program.Plan) string {
	for _, kv := range plan.Config {
		if kv.Key != "origin" || kv.Value == "" {
			continue
		}
		if isFolder(kv.Value) {
			return kv.Value
		}
		a.message("note", fmt.Sprintf("the folder %s, from which the model was imported, is not here: no tokenizer is copied; --like names another", kv.Value))
	}
	return ""
}

// openSource opens a safetensors file, a checkpoint, or the latest one of a folder. In an object
// store a file is what has such a name.
func openSource(path string) (weights.Source, func(), error) {
	if storage.Remote(path) && strings.HasSuffix(path, ".safetensors") || !storage.Remote(path) && !isFolder(path) {
		f, err := weights.OpenFile(path)
		if err != nil {
			return nil, nil, err
		}
		return f, f.Close, nil
	}
	c, err := checkpoint.Open(path, nil)
	if err != nil {
		return nil, nil, err
	}
	s := weights.OfCheckpoint(c)
	return s, s.Close, nil
}

// parseSize reads 2GB, 500 MiB or a number of bytes.
func parseSize(s string) (int64, error) {
	units := []struct {
		name  string
		bytes int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"", 1}}
	for _, u := range units {
		text, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		var n int64
		if _, err := fmt.Sscanf(strings.TrimSpace(text)+"\n", "%d\n", &n); err != nil || n < 1 || n > (1<<50)/u.bytes {
			break
		}
		return n * u.bytes, nil
	}
	return 0, fmt.Errorf("%q is no size; expected a whole number and KB, MB, GB, KiB, MiB or GiB", s)
}
