package ptc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ptc/compiler"
	"ptc/runtime/data"
	"ptc/runtime/program"
	"ptc/runtime/sample"
	"ptc/runtime/train"
)

// Evaluation is the mean loss over windows of data.
type Evaluation = train.Evaluation

// EvalOptions say what Evaluate computes the loss of.
type EvalOptions struct {
	Params    string   // safetensors file of the parameters
	Data      []string // patterns of files; none: what the plan's data holds out for validation
	PerFile   bool     // the loss of each file as well
	Threads   int      // 0: one for each processor; the result does not depend on it
	BLASCache string   // as RunOptions has it
	OnWarning func(message string)
}

// Evaluate computes a plan's validation loss over all windows of the data. It runs the
// code in the plan, as [Run] does.
func Evaluate(ctx context.Context, p *Plan, o EvalOptions) (*Evaluation, error) {
	return train.Evaluate(ctx, p.p, train.EvalOptions{
		Options: train.Options{Init: o.Params, Threads: o.Threads, Cache: folders(o.BLASCache)},
		Data:    o.Data, PerFile: o.PerFile, Warn: orNobody(o.OnWarning),
	})
}

// Choice says how a token is chosen by its logit. The zero Choice is the largest one,
// of equal ones the first.
type Choice = sample.Choice

// SampleOptions say how Sample continues prompts.
type SampleOptions struct {
	Params string  // safetensors file of the parameters
	Most   int     // tokens to add to each prompt, at least 1; there are never more than positions
	Stop   []int32 // tokens that end a prompt's continuation; they are not part of it
	Choice Choice

	Length    int    // how many positions there are; 0: as the source has it
	Threads   int    // 0: one for each processor
	BLASCache string // as RunOptions has it

	OnToken   func(prompt int, token int32) // each token as it is chosen; nil: nobody is told
	OnWarning func(message string)
}

// Sample continues prompts, which are tokens, and gives what follows each. The sources in
// the plan are compiled once more, to a function of one position: a mistake there is in
// [Diagnostics], as where positions depend on later ones. Prompts are continued at the same
// time, and no one depends on the others but for rounding. A model that tells the token
// behind a window alone has no end of positions, and a prompt has to fill the window.
//
// When ctx is done, Sample gives what there is, with the error of ctx.
func Sample(ctx context.Context, p *Plan, prompts [][]int32, o SampleOptions) ([][]int32, error) {
	switch {
	case len(prompts) == 0:
		return nil, nil
	case o.Most < 1:
		return nil, &sample.Error{Msg: fmt.Sprintf("%d tokens cannot be added to a prompt", o.Most)}
	case slices.ContainsFunc(prompts, func(ids []int32) bool { return len(ids) == 0 }):
		return nil, &sample.Error{Msg: "an empty prompt has no token to continue"}
	}
	plan, _, err := finish(ctx, func(compiler.Hook) (*program.Plan, *Report, error) {
		return compiler.RebuildSample(p.p, "", compiler.Sample{Batch: len(prompts), Length: o.Length, Prompt: sample.Longest(prompts)})
	})
	if err != nil {
		return nil, err
	}
	s, err := sample.Open(plan.p, sample.Options{Init: o.Params, Threads: o.Threads, Cache: folders(o.BLASCache), Warn: orNobody(o.OnWarning)})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := sample.Request{Prompts: prompts, Most: o.Most, Stop: o.Stop, Choice: o.Choice}
	if o.OnToken != nil {
		r.Token = func(prompt int, token int32) error {
			o.OnToken(prompt, token)
			return nil
		}
	}
	return s.Generate(ctx, r)
}

func orNobody(f func(string)) func(string) {
	if f == nil {
		return func(string) {}
	}
	return f
}

// errNoTokenizer is of plans whose data is not text.
var errNoTokenizer = errors.New("the plan's data has no tokenizer, so that text is not tokens")

// EncodeText turns text into tokens, as the data of the plan has them.
func (p *Plan) EncodeText(text string) ([]int32, error) {
	t, err := p.tokenizer()
	if err != nil {
		return nil, err
	}
	var ids []int32
	err = t.Encode([]byte(text), func(piece []int32) error {
		ids = append(ids, piece...)
		return nil
	})
	return ids, err
}

// DecodeText gives the text of tokens.
func (p *Plan) DecodeText(tokens []int32) (string, error) {
	t, err := p.tokenizer()
	if err != nil {
		return "", err
	}
	stream := t.Stream()
	var text []byte
	for _, id := range tokens {
		if id < 0 || int(id) >= t.Vocab() {
			return "", fmt.Errorf("%d is no token of the tokenizer %s", id, t.Name())
		}
		text = append(text, stream.Next(id)...)
	}
	text = append(text, stream.Rest()...)
	return string(text), nil
}

func (p *Plan) tokenizer() (data.Decoder, error) {
	var opts []data.Option
	for _, kv := range p.p.Data.Options {
		opts = append(opts, data.Option{Key: kv.Key, Value: kv.Value})
	}
	t, err := data.TokenizerOf(p.p.Data.Kind, opts, "", data.Batch{})
	if t == nil && err == nil {
		err = errNoTokenizer
	}
	return t, err
}
