package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/compiler/family"
	"ptc/runtime/program"
	"ptc/runtime/weights"
)

// Files of a folder that `ptc import` writes.
const (
	modelFile = "model.ptl"
	initFile  = "init.safetensors"
)

const importLong = `Convert a model folder written by transformers, with its parameters: config.json with
model.safetensors, or with model.safetensors.index.json and its shards, in f32, f16 or
bf16.

OUT is a new folder with model.ptl, a source that imports the family from the standard
library and has the sizes of config.json; init.safetensors, the parameters by their
paths, bit for bit; and config.json and the tokenizer files, copied. If config.json asks
for something that the model does not compute, or a tensor is missing, unknown or of
another shape, that is an error, and nothing is written.

--adapter adds a low-rank adapter of PEFT, adapter_config.json with
adapter_model.safetensors, to the parameters. With --plan the factors stay separate, as
the parameters that the plan's lora blocks train.`

type importFlags struct{ out, adapter, plan string }

func newImport(a *app) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import DIR -o OUT",
		Short: "Import a model that transformers wrote",
		Long:  importLong,
		Example: `  ptc import Llama-3.2-1B -o llama
  ptc compile llama/model.ptl --set "corpus=tokens/*.bin" -o llama.bin
  ptc run llama.bin --init llama/init.safetensors --steps 100
  ptc import Llama-3.2-1B --adapter adapter -o tuned`,
		Args: exactly("DIR"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "write the new folder `OUT`")
	cmd.Flags().StringVar(&f.adapter, "adapter", "", "add the adapter that PEFT wrote to the folder `DIR`")
	cmd.Flags().StringVar(&f.plan, "plan", "", "with --adapter: keep its factors separate, for the lora blocks of `PLAN`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case f.out == "":
			return usagef("-o OUT is missing: the folder to be written")
		case f.plan != "" && f.adapter == "":
			return usagef("--plan says which factors of an adapter stay apart, and is for --adapter")
		}
		return a.importModel(args[0], &f)
	}
	return cmd
}

func (a *app) importModel(dir string, flags *importFlags) error {
	out := flags.out
	config, err := weights.ReadConfig(dir)
	if err != nil {
		return fileError(err)
	}
	kind, _ := config.Get("model_type")
	name, _ := kind.(string)
	said := config
	if config, err = said.Read(); err != nil {
		return inputf("cannot import %s: %w", dir, err)
	}
	text, err := family.Source(name, config.Get, filepath.ToSlash(out))
	if err != nil {
		return inputf("cannot import %s: %w", dir, err)
	}
	names, r, err := compiler.Names(compiler.Options{File: modelFile, Source: []byte(text)})
	if err != nil {
		u := &unit{path: modelFile}
		u.opts.File = modelFile
		return compileError(err, u.sources(r))
	}
	n := namesFor(names, "hf")
	if n == nil {
		return inputf("cannot import %s: std.models.%s has no names for config.json", dir, name)
	}
	if err := config.Check(n); err != nil {
		return inputf("cannot import %s: %w", dir, err)
	}
	f, err := weights.Open(dir)
	if err != nil {
		return fileError(err)
	}
	defer f.Close()
	adapted := ""
	if flags.adapter != "" {
		done, about, err := a.adapt(f, n, flags)
		if err != nil {
			return err
		}
		defer done()
		adapted = about
	}
	defer a.signals.hold()()
	err = weights.WriteFolder(out, func(tmp string) error {
		if err := weights.Import(f, n, filepath.Join(tmp, initFile)); err != nil {
			if sizes := said.Sizes(); sizes != "" && errors.Is(err, weights.ErrFit) {
				err = fmt.Errorf("%w (%s)", err, sizes)
			}
			return err
		}
		if err := weights.CopyOrigin(dir, tmp); err != nil {
			return err
		}
		return a.writeFile(filepath.Join(tmp, modelFile), []byte(text))
	})
	if err != nil {
		return fileError(fmt.Errorf("cannot import %s: %w", dir, cause(err)))
	}
	return a.print(fmt.Sprintf("%s -> %s, %s: %s, %d parameters%s\n", dir, filepath.Join(out, modelFile), initFile, n.Architecture, params(n), adapted))
}

// adapt has a folder read with an adapter. It gives what closes the adapter, and what is told of it.
func (a *app) adapt(f *weights.Folder, n *program.Names, flags *importFlags) (done func(), about string, err error) {
	ad, err := weights.OpenAdapter(flags.adapter, n)
	if err != nil {
		return nil, "", fileError(err)
	}
	if flags.plan == "" {
		f.Add(ad)
		return ad.Close, fmt.Sprintf(", an adapter of %d modules added", ad.Modules()), nil
	}
	plan, err := readPlan(flags.plan)
	if err != nil {
		ad.Close()
		return nil, "", err
	}
	count, err := f.Keep(ad, n, plan)
	if err != nil {
		ad.Close()
		return nil, "", inputf("the adapter %s is none of %s: %w", flags.adapter, flags.plan, err)
	}
	return ad.Close, fmt.Sprintf(", adapters of %d of them", count), nil
}

// namesFor are the names for a format, nil where there are none.
func namesFor(names []program.Names, format string) *program.Names {
	for i := range names {
		if names[i].Format == format {
			return &names[i]
		}
	}
	return nil
}

// params counts the parameters that names are of.
func params(n *program.Names) int {
	seen := map[string]bool{}
	for _, t := range n.Tensors {
		for _, p := range t.Pieces {
			seen[p.Param] = true
		}
	}
	return len(seen)
}

// isFolder is whether a path is a folder; one that is not there is none.
func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir() && !errors.Is(err, os.ErrNotExist)
}
