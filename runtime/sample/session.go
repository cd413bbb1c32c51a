package sample

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/exec"
	"ptc/runtime/program"
)

// Program is the name of the program of a plan that samples, and Prefill that of the one
// that fills the caches for a block of positions; Position is their field in addition to the
// tokens, one number or one for each sequence, and Logits the state that the first
// leaves. States that begin with Taken count the tokens in slots of experts.
const (
	Program  = "sample"
	Prefill  = "prefill"
	Position = "position"
	Logits   = "sample/logits"
	Taken    = "taken"
)

// Options of a session.
type Options struct {
	Init    string   // a safetensors file with the parameters
	Threads int      // 0: one for each processor
	Cache   []string // as exec.Options has it
	Warn    func(string)
	OnFault func(error)
}

// Session is a plan that is open, with its parameters.
type Session struct {
	m      *exec.Machine
	p      *exec.Program
	fill   *exec.Program // nil: there is none
	tokens exec.Field
	// Batch is how many prompts it continues at once, Length how many positions there
	// are, Vocab how many tokens.
	Batch, Length, Vocab int
	// Block is how many positions [Session.Fill] runs at once; 0: it cannot.
	Block int
	// Window is how many tokens are computed for each new one, where the plan has no
	// caches; 0: it has. Slides says that it gives the logits of the token behind them
	// alone; then there is no end of positions.
	Window int
	Slides bool

	apart  bool // each sequence is at a position of its own
	counts bool // tokens in slots are counted, so that none may be run that does not come
	logits exec.Tensor
	raw    []byte
	values []float64
	fed    []byte
	ids    []int32
	at     []int
}

// Error is why sampling cannot begin or go on: a plan, a file or a prompt that cannot
// be used.
type Error struct {
	Msg string
	Err error // cause, may be nil
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Msg + ": " + e.Err.Error()
	}
	return e.Msg
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// ExitCode is what the process should exit with.
func (e *Error) ExitCode() int { return 3 }

func errorf(err error, format string, args ...any) error {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return err
	}
	return &Error{fmt.Sprintf(format, args...), err}
}

// Samples reports whether a plan is one that samples.
func Samples(plan *program.Plan) bool {
	return slices.ContainsFunc(plan.Devices, func(d program.Device) bool { return d.Program(Program) != nil })
}

// Open captures a plan that samples and gives it its parameters. It has to be closed.
func Open(plan *program.Plan, o Options) (s *Session, err error) {
	if !Samples(plan) || plan.Mesh.Ranks() != 1 {
		return nil, &Error{Msg: "the plan does not sample: it has no program sample for one device"}
	}
	m, err := exec.Open(plan, exec.Options{Threads: o.Threads, Cache: o.Cache, Warn: o.Warn, OnFault: o.OnFault})
	if err != nil {
		return nil, err
	}
	s = &Session{m: m, p: m.Program(Program), fill: m.Program(Prefill)}
	if err = s.bind(); err == nil {
		s.Length = cmp.Or(s.Length, window(plan))
		err = s.load(plan, o.Init)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close frees what the session holds.
func (s *Session) Close() { s.m.Close() }

// bind finds the fields and states of the program.
func (s *Session) bind() error {
	s.tokens = tokensOf(s.p)
	t, ok := s.m.Tensor(Logits)
	if rank := len(s.tokens.Shape); !ok || len(t.Shape) != 2 || rank < 1 || rank > 2 || t.Shape[0] != s.tokens.Shape[0] || s.tokens.DType != dtype.I32 {
		return &Error{Msg: "the plan samples differently from this ptc; compile it again"}
	}
	s.logits, s.Batch, s.Vocab = t, t.Shape[0], t.Shape[1]
	s.apart = slices.ContainsFunc(s.p.Fields(), func(f exec.Field) bool { return f.Name == Position && len(f.Shape) == 1 && f.Shape[0] == s.Batch })
	s.raw, s.values = make([]byte, t.Bytes()), make([]float64, t.Elems())
	if len(s.tokens.Shape) == 2 {
		s.Window, s.Slides = s.tokens.Shape[1], len(s.p.Fields()) == 1
		if s.Length = s.Window; s.Slides {
			s.Length = math.MaxInt32
		}
		return nil
	}
	return s.bindCaches()
}

// bindCaches finds how many positions the caches have, and the program that fills them.
func (s *Session) bindCaches() error {
	if s.fill != nil {
		block := tokensOf(s.fill)
		if len(block.Shape) != 2 || block.Shape[0] != s.Batch || block.DType != dtype.I32 {
			return &Error{Msg: "the plan reads prompts differently from this ptc; compile it again"}
		}
		s.Block = block.Shape[1]
	}
	for _, x := range s.caches() {
		s.counts = s.counts || strings.HasPrefix(pathEnd(x.Path), Taken)
		for i, a := range x.Axes {
			if x.Path != Logits && a != s.tokens.Axes[0] && strings.HasPrefix(pathEnd(x.Path), a) {
				s.Length = max(s.Length, x.Shape[i])
			}
		}
	}
	return nil
}

// tokensOf is the field of tokens of a program.
func tokensOf(p *exec.Program) (tokens exec.Field) {
	for _, f := range p.Fields() {
		if f.Name != Position {
			tokens = f
		}
	}
	return tokens
}

// window is how many positions the plan's data has, for a model without a cache.
func window(plan *program.Plan) int {
	for _, kv := range plan.Data.Options {
		if n, err := strconv.Atoi(kv.Value); (kv.Key == "window" || strings.HasSuffix(kv.Key, ".window")) && err == nil && n > 0 {
			return n
		}
	}
	return math.MaxInt32
}

// pathEnd is what a state is called in its module.
func pathEnd(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// caches are the states, the logits among them.
func (s *Session) caches() (out []exec.Tensor) {
	for _, t := range s.m.Tensors() {
		if strings.Contains(t.Path, "/") {
			out = append(out, t)
		}
	}
	return out
}

// load gives each parameter the value that the file has for it. The file may have more:
// the states of an optimizer, or what only the loss reads. It may lack adapters, which
// add nothing before they are trained.
func (s *Session) load(plan *program.Plan, path string) error {
	if len(plan.Adapters) > 0 {
		if err := s.m.Initialize(0); err != nil {
			return err
		}
	}
	f, err := checkpoint.OpenValues(nil, path)
	if err != nil {
		return errorf(err, "the parameters %s cannot be used", path)
	}
	defer f.Close()
	have := map[string]safetensors.Tensor{}
	for _, t := range f.Tensors() {
		have[t.Name] = t
	}
	for _, t := range s.m.Tensors() {
		if strings.Contains(t.Path, "/") || have[t.Path].Name == "" && plan.Adapters.Has(t.Path) {
			continue
		}
		if err := s.loadOne(f, t, have[t.Path]); err != nil {
			return errorf(err, "the parameters %s are not those of this model", path)
		}
	}
	return nil
}

func (s *Session) loadOne(f checkpoint.Values, t exec.Tensor, from safetensors.Tensor) error {
	if from.Name == "" {
		return fmt.Errorf("%s is missing", t.Path)
	}
	shape := make([]int64, len(t.Shape))
	for i, n := range t.Shape {
		shape[i] = int64(n)
	}
	if !slices.Equal(shape, from.Shape) || from.DType != t.DType && !(from.DType.IsFloat() && t.DType.IsFloat()) {
		return fmt.Errorf("%s is %s%v, not %s%v", t.Path, from.DType.Safetensors(), from.Shape, t.DType.Safetensors(), shape)
	}
	raw := make([]byte, from.Bytes())
	if err := f.ReadSlice(t.Path, safetensors.Slice{}, raw); err != nil {
		return err
	}
	if from.DType != t.DType {
		dst := make([]byte, t.Bytes())
		if err := exec.Convert(dst, t.DType, raw, from.DType); err != nil {
			return err
		}
		raw = dst
	}
	return s.m.WriteBytes(t.Path, raw)
}

// Begin forgets all positions.
func (s *Session) Begin() error {
	for _, t := range s.caches() {
		if err := s.m.WriteBytes(t.Path, make([]byte, t.Bytes())); err != nil {
			return err
		}
	}
	return nil
}

// Position runs position t, with a token of each sequence, and gives the logits of what
// follows: Vocab numbers for each sequence, valid until the next call. Positions are run
// in their order, from 0 on. Where there are no caches, it is given the Window tokens of
// each sequence, one sequence after the other, and positions are run in any order.
func (s *Session) Position(t int, tokens []int32) ([]float64, error) {
	s.at = s.at[:0]
	for range s.Batch {
		s.at = append(s.at, t)
	}
	return s.positions(s.at, tokens)
}

// positions is Position with one of each sequence, which may differ where the plan says
// so.
func (s *Session) positions(at []int, tokens []int32) ([]float64, error) {
	if err := s.run(s.p, at, tokens); err != nil {
		return nil, err
	}
	if err := s.m.ReadBytes(Logits, s.raw); err != nil {
		return nil, err
	}
	s.logits.DType.Decode(s.values, s.raw)
	return s.values, nil
}

// Fill runs Block positions from t on, with as many tokens of each sequence, one
// sequence after the other: the caches are what Position would make of them. Tokens that
// are not known yet may be any: what they leave is written again when they are.
func (s *Session) Fill(t int, tokens []int32) error {
	return s.run(s.fill, append(s.at[:0], t), tokens)
}

// run runs a program, whose field of positions is one number or all.
func (s *Session) run(p *exec.Program, at []int, tokens []int32) error {
	for _, f := range p.Fields() {
		s.fed = s.fed[:0]
		if f.Name == Position {
			n := 1
			if len(f.Shape) > 0 {
				n = len(at)
			}
			for _, t := range at[:n] {
				s.fed = binary.LittleEndian.AppendUint32(s.fed, uint32(t))
			}
		} else {
			for _, id := range tokens {
				s.fed = binary.LittleEndian.AppendUint32(s.fed, uint32(id))
			}
		}
		if err := p.Feed(f.Name, s.fed); err != nil {
			return err
		}
	}
	return p.Run()
}
