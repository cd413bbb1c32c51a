package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/internal/diag"
	"ptc/runtime/chat"
	"ptc/runtime/data"
	"ptc/runtime/program"
	"ptc/runtime/sample"
)

type sampleFlags struct {
	paramFlags
	trust   trustFlags
	target  string
	length  int
	threads int

	prompt, prompts string
	tokenizer       string
	ids             []int32
	most            int
	choice          sample.Choice
	greedy, json    bool
	stopIDs         []int32
	stop            string

	talk   chatFlags
	system string
}

// maxPrompts bounds how many prompts there may be, and maxPromptFile their file.
const (
	maxPrompts    = 4096
	maxPromptFile = 64 << 20
)

func newSample(a *app) *cobra.Command {
	var f sampleFlags
	cmd := &cobra.Command{
		Use:   "sample PLAN --init FILE|--checkpoint DIR --prompt TEXT [flags]",
		Short: "Continue text with a model",
		Long: `Continue prompts with a model, token by token.

The sources in the plan are compiled again, for one device: to a function of one
position with a key-value cache, and one of a block of positions, which reads prompts.
"ptc compile --sample" writes a plan that has both already. A model whose positions
depend on later ones cannot be sampled, and the error names the line. A model that
predicts only the token after a window reads the last tokens again for each token, and a
prompt must fill the window.

Without --greedy each token is drawn from the softmax of the logits over --temperature,
among the --top-k most probable tokens, and among the fewest whose probabilities add up
to --top-p. The same seed, prompt and parameters give the same text.

The plan's data says how text becomes tokens; for token files the manifest next to them,
or --tokenizer, names the tokenizer. With --chat a prompt is a user's message, or a JSON
object with messages; it is rendered by the chat template next to the tokenizer, and the
answer ends where the template ends one. SIGINT (Ctrl-C) ends the text at once.`,
		Example: `  ptc sample plan.bin --init trained.safetensors --prompt "func main"
  ptc sample plan.bin --checkpoint ckpt/ --prompt-ids 5,17 --greedy --json
  ptc sample plan.bin --init t.safetensors --prompts lines.txt --top-p 0.9 --seed 7
  ptc sample tuned.bin --checkpoint ckpt/ --chat --prompt "What is 2 + 2?"`,
		Args:              exactly("PLAN"),
		ValidArgsFunction: completeFiles("bin"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd); err != nil {
			return err
		}
		return a.sample(cmd.Context(), args[0], &f)
	}
	f.add(cmd)
	return cmd
}

func (f *sampleFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	f.paramFlags.add(cmd)
	fl.StringVar(&f.prompt, "prompt", "", "continue `TEXT`")
	fl.Int32SliceVar(&f.ids, "prompt-ids", nil, "continue these `TOKENS`, such as 5,17")
	fl.StringVar(&f.prompts, "prompts", "", "continue each line of `FILE`; `-` is the standard input")
	cmd.MarkFlagsMutuallyExclusive("prompt", "prompt-ids", "prompts")
	cmd.MarkFlagsOneRequired("prompt", "prompt-ids", "prompts")
	fl.StringVar(&f.tokenizer, "tokenizer", "", "tokenize with the tokenizer in `FILE` (default the one of the plan's data)")
	fl.IntVar(&f.most, "max-tokens", 256, "add at most `N` tokens, as far as there are positions")
	fl.Float64Var(&f.choice.Temperature, "temperature", 1, "divide the logits by `T`")
	fl.IntVar(&f.choice.TopK, "top-k", 0, "choose among the `K` most probable tokens, 0 all")
	fl.Float64Var(&f.choice.TopP, "top-p", 0, "choose among the most probable tokens whose probabilities add up to `P`, 0 all")
	fl.Uint64Var(&f.choice.Seed, "seed", 0, "the seed of the draws")
	fl.BoolVar(&f.greedy, "greedy", false, "take the most probable token")
	fl.Int32SliceVar(&f.stopIDs, "stop-id", nil, "end at one of these `TOKENS`")
	fl.StringVar(&f.stop, "stop", "", "end at `TEXT`, which is not shown")
	fl.BoolVar(&f.json, "json", false, "write a JSON object, or a list of them for --prompts")
	fl.IntVar(&f.length, "length", 0, "the number of positions (default the plan's)")
	fl.StringVar(&f.target, "target", "", "compile for `TARGET` (default the plan's)")
	fl.IntVar(&f.threads, "threads", 0, "use `N` threads (default one for each processor)")
	f.trust.add(cmd)
	fl.BoolVar(&f.talk.chat, "chat", false, "the prompt is a message of a conversation")
	fl.StringVar(&f.system, "system", "", "with --chat, the conversation begins with the system's `TEXT`")
	f.talk.addPage(cmd)
	cmd.MarkFlagsMutuallyExclusive("chat", "prompt-ids")
	complete(cmd, "target", func([]string) []string { return compiler.Targets() })
}

func (f *sampleFlags) check(cmd *cobra.Command) error {
	c := &f.choice
	switch {
	case f.most < 1:
		return usagef("--max-tokens is %d, but must be at least 1", f.most)
	case !(c.Temperature >= 0):
		return usagef("--temperature is %v, but must be at least 0", c.Temperature)
	case c.TopK < 0:
		return usagef("--top-k is %d, but must be at least 0", c.TopK)
	case !(c.TopP >= 0 && c.TopP <= 1):
		return usagef("--top-p is %v, but must be from 0 to 1", c.TopP)
	case !f.talk.chat && (f.system != "" || f.talk.page != "" || f.talk.date != ""):
		return usagef("--system, --chat-template and --date need --chat")
	case cmd.Flags().Changed("length") && f.length < 1:
		return usagef("--length is %d, but must be at least 1", f.length)
	}
	if f.greedy {
		*c = sample.Choice{Seed: c.Seed}
	}
	return checkThreads(cmd, f.threads)
}

func (a *app) sample(ctx context.Context, path string, f *sampleFlags) error {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return usagef("%s is a folder, and checkpoints do not contain their model: ptc sample PLAN --checkpoint %s", path, path)
	}
	plan, err := f.trust.signed(path)
	if err != nil {
		return err
	}
	w := &writer{app: a, flags: f}
	if err := w.open(path, plan); err != nil {
		return err
	}
	prompts, err := w.prompts()
	if err != nil {
		return err
	}
	if plan, err = f.plan(path, plan, prompts); err != nil {
		return err
	}
	o := sample.Options{Threads: f.threads}
	if o.Init, err = f.file(a); err != nil {
		return err
	}
	run := runFlags{trust: f.trust}
	o.Cache = run.caches(path)
	o.Warn = func(s string) { a.message("warning", s) }
	o.OnFault = func(err error) { os.Exit(a.reportBug(err.Error(), nil, os.Args[1:])) }
	s, err := sample.Open(plan, o)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.Window > 0 && !s.Slides {
		a.message("note", fmt.Sprintf("positions depend on each other in a way that caches do not allow: each token is computed from all %d positions again", s.Window))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.signals.finish(func(os.Signal) { cancel() })
	return w.run(ctx, s, prompts)
}

// plan is the one that samples: the given one, or one of its sources.
func (f *sampleFlags) plan(path string, p *program.Plan, prompts [][]int32) (*program.Plan, error) {
	if sample.Samples(p) && !f.trust.rebuild && !f.trust.noNative && f.target == "" && f.length == 0 {
		return p, nil
	}
	target := f.target
	if f.trust.noNative {
		if target = "ref"; p.Target == "ref:f64" {
			target = p.Target
		}
	}
	again, r, err := compiler.RebuildSample(p, target, compiler.Sample{Batch: len(prompts), Length: f.length, Prompt: sample.Longest(prompts)})
	if err == nil {
		return again, nil
	}
	return nil, rebuildError(path, p, target, r, err)
}

// writer turns prompts into tokens, and tokens into text.
type writer struct {
	app   *app
	flags *sampleFlags
	text  data.Decoder // nil: the plan's data does not say, or tokens are given
	out   data.Stream  // of what is shown
	list  bool
	talk  *chat.Template // with --chat
	held  bytes.Buffer   // what may be the beginning of --stop
	ended bool           // by --stop
}

// open finds the tokenizer, where text is given or to be shown.
func (w *writer) open(path string, plan *program.Plan) error {
	f := w.flags
	var opts []data.Option
	for _, kv := range plan.Data.Options {
		opts = append(opts, data.Option{Key: kv.Key, Value: kv.Value})
	}
	t, err := data.TokenizerOf(plan.Data.Kind, opts, f.tokenizer, data.Batch{Folder: filepath.Dir(path)})
	if err != nil && (len(f.ids) == 0 || f.tokenizer != "" || f.stop != "") {
		return fileError(err)
	}
	if err == nil {
		w.text = t
	}
	if f.talk.chat {
		if err := w.openChat(path, plan, opts); err != nil {
			return err
		}
	}
	if w.text == nil && (len(f.ids) == 0 || f.stop != "") {
		return usagef("the plan's data has no tokenizer: give --tokenizer or --prompt-ids")
	}
	return nil
}

// stream begins to decode what follows a prompt. The prompt goes before, as
// decoders leave out what is at the start of a text alone.
func (w *writer) stream(prompt []int32) data.Stream {
	s := w.text.Stream()
	for _, id := range prompt {
		s.Next(id)
	}
	return s
}

func (w *writer) prompts() ([][]int32, error) {
	f := w.flags
	switch {
	case len(f.ids) > 0:
		return [][]int32{f.ids}, nil
	case f.prompts == "":
		ids, err := w.encode(f.prompt)
		return [][]int32{ids}, err
	}
	w.list = true
	text, err := w.app.readText(f.prompts, maxPromptFile)
	if err != nil {
		return nil, err
	}
	var out [][]int32
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxPromptFile)
	for lines.Scan() {
		ids, err := w.encode(lines.Text())
		if err != nil {
			return nil, inputf("line %d of %s: %w", len(out)+1, f.prompts, err)
		}
		out = append(out, ids)
	}
	if n := len(out); n == 0 || n > maxPrompts {
		return nil, inputf("%s has %d prompts, but must have from 1 to %d", f.prompts, n, maxPrompts)
	}
	return out, nil
}

func (w *writer) encode(text string) (ids []int32, err error) {
	if w.talk != nil {
		return w.encodeChat(text)
	}
	err = w.text.Encode([]byte(text), func(piece []int32) error {
		ids = append(ids, piece...)
		return nil
	})
	switch {
	case err != nil:
		return nil, inputf("the prompt cannot be tokenized: %w", err)
	case len(ids) == 0:
		return nil, inputf("an empty prompt has no token to continue")
	}
	return ids, nil
}

// continuation is what is told of a prompt.
type continuation struct {
	Tokens []int32 `json:"tokens"`
	Text   *string `json:"text,omitempty"`
}

// errStop ends a continuation at --stop.
var errStop = errors.New("the text has come to its end")

// run continues all prompts, as many at a time as the plan takes.
func (w *writer) run(ctx context.Context, s *sample.Session, prompts [][]int32) error {
	var all []continuation
	for first := 0; first < len(prompts); first += s.Batch {
		n := min(s.Batch, len(prompts)-first)
		r := sample.Request{Prompts: append([][]int32(nil), prompts[first:first+n]...), Most: w.flags.most, Stop: w.stops(), Choice: w.flags.choice}
		for len(r.Prompts) < s.Batch {
			r.Prompts = append(r.Prompts, r.Prompts[0])
		}
		if w.text != nil {
			w.out = w.stream(prompts[first])
		}
		if !w.list {
			r.Token = func(sequence int, id int32) error {
				if sequence > 0 {
					return nil
				}
				return w.token(id)
			}
		}
		out, err := s.Generate(ctx, r)
		if err != nil && !errors.Is(err, errStop) && !errors.Is(err, context.Canceled) {
			return err
		}
		for i, tokens := range out[:n] {
			all = append(all, w.continuation(prompts[first+i], tokens))
		}
		if err != nil {
			break
		}
	}
	return w.finish(all)
}

// continuation is what came of a prompt, up to --stop.
func (w *writer) continuation(prompt, tokens []int32) continuation {
	c := continuation{Tokens: append([]int32{}, tokens...)}
	if w.text == nil {
		return c
	}
	var b strings.Builder
	stream := w.stream(prompt)
	for i, id := range tokens {
		b.Write(stream.Next(id))
		if at := strings.Index(b.String(), w.flags.stop); w.flags.stop != "" && at >= 0 {
			text := b.String()[:at]
			c.Tokens, c.Text = c.Tokens[:i+1], &text
			return c
		}
	}
	b.Write(stream.Rest())
	text := b.String()
	c.Text = &text
	return c
}

// token shows a token as soon as it cannot be of --stop.
func (w *writer) token(id int32) error {
	if w.text == nil {
		if w.flags.json {
			return nil
		}
		return w.show([]byte(strconv.Itoa(int(id)) + " "))
	}
	w.held.Write(w.out.Next(id))
	text, stop := w.held.Bytes(), []byte(w.flags.stop)
	if at := bytes.Index(text, stop); len(stop) > 0 && at >= 0 {
		err := w.show(text[:at])
		w.held.Reset()
		w.ended = true
		if err == nil {
			err = errStop
		}
		return err
	}
	keep := 0
	for n := 1; n < len(stop) && n <= len(text); n++ {
		if bytes.HasSuffix(text, stop[:n]) {
			keep = n
		}
	}
	return w.show(w.held.Next(len(text) - keep))
}

func (w *writer) show(text []byte) error {
	if w.flags.json {
		return nil
	}
	_, err := w.app.out.Write(text)
	return fileError(wrapWrite("the standard output", err))
}

// finish shows what is left.
func (w *writer) finish(all []continuation) error {
	switch {
	case w.flags.json && w.list:
		return w.app.printJSON(all)
	case w.flags.json:
		return w.app.printJSON(all[0])
	case !w.list:
		if w.out != nil && !w.ended {
			w.held.Write(w.out.Rest())
		}
		if err := w.show(w.held.Bytes()); err != nil {
			return err
		}
		return w.app.print("\n")
	}
	for i, c := range all {
		if _, err := io.WriteString(w.app.out, fmt.Sprintf("[%d] %s\n", i+1, *c.Text)); err != nil {
			return fileError(wrapWrite("the standard output", err))
		}
	}
	return nil
}

// rebuildError is why the sources in a plan cannot be compiled to sample: a model that
// looks ahead is the user's, and its lines are shown.
func rebuildError(path string, p *program.Plan, target string, r *compiler.Report, err error) error {
	var bug *compiler.Bug
	if errors.As(err, &bug) {
		return &fault{code: exitBug, err: err}
	}
	if _, ok := diag.As(err); !ok {
		err = fmt.Errorf("%s cannot be compiled to sample for %s: %w", path, orTarget(target, p), err)
	}
	return &fault{code: exitFile, err: err, source: planSource(path, r)}
}
