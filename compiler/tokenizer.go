package compiler

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/runtime/program"
	"ptc/runtime/tokenizer"
)

// Keys of a source's options that name the file of a tokenizer, and its hash.
const (
	tokenizerKey = "tokenizer"
	hashKey      = "tokenizer_sha256"
)

// sourcesKey has the sources of a mixture, whose options a plan has with the number
// of the source, from 1, and a dot before the key.
const sourcesKey = "sources"

// pinTokenizer notes in the module which file of a tokenizer its data is meant
// for, so that a run with another one is refused, and checks that the model has
// all of its tokens. A file that is not here is looked at when the plan runs. A plan
// that is compiled again keeps its hash: the file is not part of a plan.
func pinTokenizer(o Options, r *Report, m *ir.Module) error {
	term := m.MetaTerm("data")
	if term == nil {
		return nil
	}
	if err := pinSource(o, r, m, term, ""); err != nil {
		return err
	}
	sources := slices.Clone(term.Args.Terms(sourcesKey))
	if len(sources) == 0 {
		return nil
	}
	for i := range sources {
		if err := pinSource(o, r, m, &sources[i], fmt.Sprintf("%d.", i+1)); err != nil {
			return err
		}
	}
	term.Args = term.Args.With(sourcesKey, ir.Terms(sources))
	return nil
}

// pinSource does it for one source, of whose options a plan has the keys with the
// prefix.
func pinSource(o Options, r *Report, m *ir.Module, term *ir.Term, prefix string) error {
	path, ok := term.Args.Get(tokenizerKey).(ir.Str)
	if !ok {
		return nil
	}
	if o.plan != nil {
		if hash := optionOf(o.plan, prefix+hashKey); hash != "" {
			term.Args = term.Args.With(hashKey, ir.Str(hash))
		}
		return nil
	}
	if o.Tokenizer == nil {
		return nil
	}
	raw, err := o.Tokenizer(string(path))
	if errors.Is(err, fs.ErrNotExist) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the tokenizer %s does not exist yet; ptc reads it when the plan runs", path))
		return nil
	}
	if err != nil {
		return &diag.Error{Code: "E0704", Msg: fmt.Sprintf("the tokenizer %s cannot be read: %v", string(path), err)}
	}
	t, err := tokenizer.Parse(string(path), raw)
	if err != nil {
		return &diag.Error{Code: "E0704", Msg: fmt.Sprintf("the tokenizer %s cannot be used: %v", string(path), err)}
	}
	if n := vocabulary(m); n > 0 && t.Vocab() > n {
		return &diag.Error{Code: "E0705", Msg: fmt.Sprintf("the tokenizer %s has %d tokens, but the axis `vocab` of the parameters has %d", string(path), t.Vocab(), n),
			Hint: fmt.Sprintf("set vocab = %d, or more", t.Vocab())}
	}
	term.Args = term.Args.With(hashKey, ir.Str(t.Hash()))
	return nil
}

// vocabulary is the size of the axis vocab of the parameters, 0 if none has it.
func vocabulary(m *ir.Module) int {
	for _, f := range m.Funcs {
		for _, a := range f.Args {
			if a.Role != ir.RoleParam {
				continue
			}
			for _, x := range a.Value.Type.Axes {
				if x.Name == "vocab" {
					return x.Size
				}
			}
		}
	}
	return 0
}

func optionOf(p *program.Plan, key string) string {
	for _, kv := range p.Data.Options {
		if kv.Key == key {
			return kv.Value
		}
	}
	return ""
}
