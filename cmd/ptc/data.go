package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ptc/internal/units"
	"ptc/runtime/data"
	"ptc/runtime/data/prepare"
	"ptc/runtime/tokenizer"
)

func newData(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data COMMAND",
		Short: "Turn text into files of tokens, and show them",
		Long: `Turn text into files of tokens that data.tokens reads, and show what is in such
files.`,
		Example: `  ptc data prepare "corpus/**/*.txt" --tokenizer tokenizer.json -o tokens
  ptc data show tokens --tokenizer tokenizer.json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, c := range []*cobra.Command{newDataPrepare(a), newDataShow(a)} {
		c.DisableFlagsInUseLine = true
		c.RunE = started(c.RunE)
		cmd.AddCommand(c)
	}
	return cmd
}

func newDataPrepare(a *app) *cobra.Command {
	var o prepare.Options
	var c chatFlags
	var tok, size string
	cmd := &cobra.Command{
		Use:   "prepare FILES… --tokenizer FILE -o DIR",
		Short: "Turn text into files of tokens",
		Long: `Tokenize text into DIR: shards of u16, or of u32 if the tokenizer has more than 65536
tokens, and manifest.json, which describes them. Each file is a document; in JSON
lines (.jsonl) and parquet each record is one. Input may be compressed (.gz, .zst).
FILES are paths or patterns, with ** for any folders.

The tokenizer is a tokenizer.json, tiktoken ranks, or a SentencePiece model.
Nothing is put between documents unless --separator names a token.

With --chat, --messages or --pairs, records are conversations. The chat template next
to the tokenizer, whose folder --tokenizer may name, renders them, and the assistant's
tokens are marked. data.chat and data.preferences read them.

An interrupted command keeps its work: the same command continues. Equal files give
equal bytes.`,
		Example: `  ptc data prepare "corpus/**/*.txt" --tokenizer tokenizer.json -o tokens
  ptc data prepare dump.jsonl.zst --tokenizer my.cl100k.tiktoken --separator "<|endoftext|>" -o tokens
  ptc data prepare chat.jsonl --tokenizer llama-hf --chat -o talks`,
		Args: oneOrMore("FILES"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case tok == "":
				return usagef("--tokenizer is missing: a tokenizer.json, ranks of tiktoken, or a model of SentencePiece")
			case o.Dir == "":
				return usagef("-o is missing: the folder for the files of tokens")
			}
			err := checkThreads(cmd, o.Threads)
			if err != nil {
				return err
			}
			if o.ShardSize, err = data.ParseSize(size); err != nil {
				return usagef("--shard-size: %w", err)
			}
			o.Patterns = args
			return a.prepare(cmd.Context(), o, &c, tok)
		},
	}
	f := cmd.Flags()
	f.StringVar(&tok, "tokenizer", "", "tokenize with the tokenizer in `FILE`")
	f.StringVarP(&o.Dir, "output", "o", "", "write to the folder `DIR`")
	f.StringVar(&size, "shard-size", "256MiB", "end a file of tokens after the document with which it reaches `SIZE`")
	f.StringVar(&o.Separator, "separator", "", "put the token `TEXT` after each document (default none)")
	f.StringVar(&o.Column, "text-column", "text", "the text of a record is in the column `NAME`")
	f.IntVar(&o.Threads, "threads", 0, "tokenize in `N` threads (default one for each processor)")
	c.add(cmd)
	return cmd
}

func (a *app) prepare(ctx context.Context, o prepare.Options, c *chatFlags, tok string) error {
	var err error
	if o.Tokenizer, err = tokenizer.Open(tok); err != nil {
		return fileError(tokenizerError(tok, err))
	}
	o.File = tok
	if c.asked() {
		if err := c.open(a, &o); err != nil {
			return err
		}
	}
	kept := 0
	o.Progress = func(p prepare.Progress) {
		kept = p.Kept
		fmt.Fprintf(a.err, "%d of %d files, %s of %s, %s in %s\n", p.Files, p.AllFiles, units.Bytes(p.Bytes), units.Bytes(p.AllBytes),
			units.Count(p.Tokens, "token"), units.Plural(p.Shards, "shard"))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.signals.finish(func(os.Signal) { cancel() })
	defer a.signals.finish(nil)
	m, err := prepare.Run(ctx, o)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(a.err, "interrupted; the same command goes on from the last shard that is done")
		return &fault{code: exitInterrupt, err: err, silent: true}
	}
	if err != nil {
		return fileError(err)
	}
	note := ""
	if kept > 0 {
		note = fmt.Sprintf(", %s kept of an earlier call", units.Plural(kept, "shard"))
	}
	fmt.Fprintf(a.err, "%s: %s of %s in %s of %s%s\n", o.Dir, units.Count(m.Tokens, "token"), units.Plural(int(m.Documents), "document"),
		units.Plural(len(m.Shards), "file"), m.DType, note)
	return nil
}

func newDataShow(a *app) *cobra.Command {
	var tok string
	var from, count, examples int64
	var dtype string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show FILES… [--tokenizer FILE]",
		Short: "Show tokens of files, and their text",
		Long:  "Show the tokens of files, and their text if --tokenizer is given.",
		Example: `  ptc data show "tokens/*.bin" --tokenizer tokenizer.json
  ptc data show tokens --from 1000 --count 20
  ptc data show talks --examples 3 --json`,
		Args: oneOrMore("FILES"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if examples != 0 {
				if examples < 1 || examples > maxExamples {
					return usagef("--examples is from 1 to %d", maxExamples)
				}
				return a.showExamples(args, tok, from, examples, asJSON)
			}
			if from < 0 || count < 1 || count > 1<<20 {
				return usagef("--from is at least 0, --count from 1 to %d", 1<<20)
			}
			return a.showData(args, tok, dtype, from, count, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&tok, "tokenizer", "", "decode the tokens with the tokenizer in `FILE`")
	f.Int64Var(&from, "from", 0, "begin with token `N`")
	f.Int64Var(&count, "count", 64, "show `N` tokens")
	f.Int64Var(&examples, "examples", 0, "show `N` conversations, starting with number --from, and their targets")
	f.BoolVar(&asJSON, "json", false, "print JSON; in examples, -1 marks a token that is not a target")
	f.StringVar(&dtype, "dtype", "auto", "tokens of a file without a header have `TYPE` auto, u16, u32, …")
	return cmd
}

// tokenizerError says which file is no tokenizer; errors of what is in it have its name already.
func tokenizerError(path string, err error) error {
	if c := cause(err); c != err {
		err = fmt.Errorf("%s: %w", path, c)
	}
	return fmt.Errorf("the tokenizer cannot be used: %w", err)
}

// shownTokens is what `ptc data show --json` says.
type shownTokens struct {
	Total  int64   `json:"total"`
	From   int64   `json:"from"`
	Tokens []int32 `json:"tokens"`
	Text   *string `json:"text,omitempty"`
}

func (a *app) showData(files []string, tok, dtype string, from, count int64, asJSON bool) error {
	ids, total, err := data.ReadTokens(files, dtype, from, count)
	if err != nil {
		return fileError(err)
	}
	shown := shownTokens{Total: total, From: from, Tokens: ids}
	if tok != "" {
		t, err := tokenizer.Open(tok)
		if err != nil {
			return fileError(tokenizerError(tok, err))
		}
		text := string(t.Decode(ids))
		shown.Text = &text
	}
	if asJSON {
		return a.printJSON(shown)
	}
	text := fmt.Sprintf("%s; from %d on:\n%v\n", units.Count(total, "token"), from, ids)
	if shown.Text != nil {
		text += fmt.Sprintf("%q\n", *shown.Text)
	}
	return a.print(text)
}
