package main

import (
	"strings"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/foresight/launch"
	"ptc/internal/diag"
)

func newLayout(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "layout COMMAND",
		Short: "Translate layouts from and to other training software",
		Long: `Translate a launch configuration of Megatron-LM, Megatron-Bridge, torchtitan, DeepSpeed
or MaxText to a source with the same model, training and layout, and a layout back to
such a configuration.`,
		Example: `  ptc layout from megatron --devices 64 -o run.ptl -- --num-layers 32 --tensor-model-parallel-size 4 …
  ptc layout to megatron run.ptl`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, c := range []*cobra.Command{newLayoutAuto(a), newLayoutVerify(a), newLayoutFrom(a), newLayoutTo(a)} {
		c.DisableFlagsInUseLine = true
		c.RunE = started(c.RunE)
		cmd.AddCommand(c)
	}
	return cmd
}

const layoutFromLong = `Read a launch configuration and write a source that means the same: the model, from
std.models if one fits, its config, training, and the layout. Comments say which
setting each line comes from.

  megatron         the flags of pretrain_gpt.py, after -- or in a file
  megatron-bridge  run_config.yaml or overrides of a recipe, section.field=value, --hf
  torchtitan       a TOML file, --module and --config, or --section.field value
  deepspeed        the JSON file, and flags of Megatron-DeepSpeed or --hf for the model
  maxtext          YAML files, the later ones win, and key=value

Every setting is translated, listed on stderr as without effect on the layout, or an
error that says why ptc has no counterpart. Settings that contradict each other are an
error too. Settings without effect are kept in the config, and "ptc layout to" writes
them again.`

func newLayoutFrom(a *app) *cobra.Command {
	var out, hf string
	var devices int
	cmd := &cobra.Command{
		Use:   "from SOFTWARE --devices N [FILE…] [-o OUT] [-- SETTINGS…]",
		Short: "Write a source for another software's launch configuration",
		Long:  layoutFromLong,
		Example: `  ptc layout from megatron --devices 64 -o run.ptl -- --num-layers 32 --hidden-size 4096 …
  ptc layout from megatron-bridge --devices 64 --hf config.json run.yaml -- model.tensor_model_parallel_size=4
  ptc layout from torchtitan --devices 128 llama3_405b.toml -o run.ptl
  ptc layout from deepspeed --devices 16 ds_config.json --hf config.json
  ptc layout from maxtext --devices 256 base.yml llama3-8b.yml -- ici_fsdp_parallelism=64`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeSoftware,
	}
	cmd.Flags().StringVarP(&out, "output", "o", stdio, "write the source to `OUT`")
	cmd.Flags().IntVar(&devices, "devices", 0, "the configuration runs on `N` devices")
	cmd.Flags().StringVar(&hf, "hf", "", "take the model's sizes from a config.json of transformers, `FILE`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var settings []string
		if n := cmd.ArgsLenAtDash(); n >= 0 {
			args, settings = args[:n], args[n:]
		}
		if len(args) == 0 {
			return usagef("SOFTWARE is missing: %s", diag.OneOf(launch.Names()))
		}
		s, err := software(args[0])
		if err != nil {
			return err
		}
		if devices < 1 || devices > launch.MaxDevices {
			return usagef("--devices N says how many devices the configuration runs on: from 1 to %d", launch.MaxDevices)
		}
		return a.layoutFrom(s, launch.Input{Devices: devices, Args: settings}, args[1:], hf, out)
	}
	return cmd
}

// software is one by name.
func software(name string) (launch.Software, error) {
	s, ok := launch.Named(name)
	if ok {
		return s, nil
	}
	hint := diag.DidYouMean(name, launch.Names())
	if hint != "" {
		hint = "; " + hint
	}
	return s, usagef("unknown software `%s`: expected %s%s", name, diag.OneOf(launch.Names()), hint)
}

func completeSoftware(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return launch.Names(), cobra.ShellCompDirectiveNoFileComp
}

func (a *app) layoutFrom(s launch.Software, in launch.Input, files []string, hf, out string) error {
	for _, name := range files {
		text, err := a.readText(name, launch.MaxInput)
		if err != nil {
			return err
		}
		in.Files = append(in.Files, launch.File{Name: name, Text: text})
	}
	if hf != "" {
		text, err := a.readText(hf, launch.MaxInput)
		if err != nil {
			return err
		}
		in.HF = text
	}
	if err := keepsInputs(out, files...); err != nil {
		return err
	}
	run, notes, err := s.From(in)
	if err != nil {
		return inputf("%s: %w", s.Name, err)
	}
	text, err := launch.Source(run, s.Name, notes)
	if err != nil {
		return inputf("%s: %w", s.Name, err)
	}
	if _, _, err := compiler.Lower(compiler.Options{File: modelFile, Source: []byte(text)}); err != nil {
		a.message("note", "ptc has no layout like this; the lines that it refuses follow")
		return compileError(err, oneSource(modelFile, []byte(text)))
	}
	a.translated(notes)
	return a.writeFile(out, []byte(text))
}

// translated lists what became of settings.
func (a *app) translated(notes []launch.Note) {
	for _, n := range notes {
		a.message("note", strings.ReplaceAll(n.String(), "\n", " "))
	}
}

func newLayoutTo(a *app) *cobra.Command {
	var f sourceFlags
	cmd := &cobra.Command{
		Use:   "to SOFTWARE FILE [--layout NAME]",
		Short: "Write another software's launch configuration for a layout",
		Long: `Read a source and write the configuration with which another software trains the same
model in the same layout: flags of Megatron-LM, YAML of Megatron-Bridge and MaxText,
TOML of torchtitan, JSON of DeepSpeed. A rule that has no counterpart there is an error;
what differs is listed on stderr.

The axes of the model must have the names of std.models: batch, seq, vocab, embed,
heads, kv, head, ffn, experts.`,
		Example: `  ptc layout to megatron run.ptl
  ptc layout to torchtitan gpt.ptl --layout three_d > run.toml`,
		Args:              exactly("SOFTWARE", "FILE"),
		ValidArgsFunction: completeSoftware,
	}
	f.add(cmd)
	if err := cmd.Flags().MarkHidden("target"); err != nil {
		panic(err) // the flag does not exist
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s, err := software(args[0])
		if err != nil {
			return err
		}
		return a.layoutTo(s, args[1], &f)
	}
	return cmd
}

func (a *app) layoutTo(s launch.Software, path string, f *sourceFlags) error {
	u, err := a.openUnit(path, f.importsBelow)
	if err != nil {
		return err
	}
	f.apply(&u.opts)
	low, r, err := compiler.Lower(u.opts)
	if err != nil {
		return compileError(err, u.sources(r))
	}
	run, notes, err := launch.Read(low.Module, low.Config)
	if err != nil {
		return inputf("%s: %w", path, err)
	}
	text, more, err := s.To(run)
	if err != nil {
		return inputf("%s: %w", path, err)
	}
	a.translated(append(notes, more...))
	return a.print(text)
}
