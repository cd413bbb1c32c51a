package random

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"ptc/compiler"
	"ptc/internal/diag"
	"ptc/ir/verify"
	"ptc/lang"
)

var damagedCases = flag.Int("damaged", 200, "how many damaged programs to compile, from the first seed on")
var damagedShare = flag.Uint64("damaged-share", 10, "of so many damaged programs one goes through all passes, the others through the language alone")
var damagedSeed = flag.Uint64("damaged-seed", 1, "the first seed of damaged programs")

// everything has every construct of the language that the models of [New] may
// lack.
const everything = `// A program of all constructs.
import std.nn
import std.optim
import std.data
import std.nn as more

config { layers = 2  batch = 4  seq = 4; embed = 8  heads = 2  head = 4  ffn = 12  vocab = 16  big = not false and 2 > 1  text = "a" + "b"  room = 1.5 MiB  größe = 0x4 }

fn pair(x, y: number = 2, over: axis = embed) -> (like x, f32) { return x * y, mean(x) }

optimizer Momentum(lr, momentum = 0.9, weight_decay = 0.01) {
  state m : f32 like param ~ zeros
  state count : f32 ~ 0.0
  let keep = 1 - momentum
  fn update(w, g) {
    m = momentum * m + keep * g
    count = count + 1
    return w - lr * (m + weight_decay * w)
  }
}

module Block(from: axis = embed, act = gelu, rate: number = 0.1, name: string = "b", on: bool = true) {
  param wq, wk, wv : [from, heads, head] ~ normal(std = 0.1, mean = 0)
  param wo : bf16[heads, head, from] ~ uniform(low = -0.1, high = 0.1)
  param s : f32 ~ 1.0
  let width = size(f32[from], from)
  ln, ln2 : nn.RMSNorm(over = from)
  mlp : more.MLP(from, act = act)
  drop : nn.Dropout(rate)

  fn apply(x: [batch, seq, from]) -> [batch, seq, from] {
    h = ln(x)
    q : [batch, seq, heads, head] = dot(h, wq, over = from)
    k = nn.rope(dot(h, wk, over = from)).rename(seq = kseq)
    v = dot(h, wv, over = from).rename(seq = kseq)
    a = dot(q, k, over = head) / sqrt(head)
    p = softmax(where(index(seq) >= index(kseq), a, -inf), over = kseq)
    y = dot(dot(p, v, over = kseq), cast(wo, f32), over = (heads, head))
    if on and width > 2 { y = y * s } else if name == "c" { y = -y } else { y = y ** 2 }
    z, m : ([batch, seq, from], f32) = pair(y)
    for c in (1, 0.5) { z = z + c * drop(mlp(ln2(z))) }
    return x + z
  }
}

model All {
  param wte : [vocab, embed] ~ normal(std = 0.02)
  param wpe : [seq, embed] ~ constant(0.1)
  param e : [parts = 2, half = embed / 2] ~ ones
  blocks : Block(act = silu)[layers]

  fn apply(tokens: i32[batch, seq]) -> [batch, seq, vocab] {
    x = wte[vocab = tokens] + wpe
    x = concat(x[seq = 0..2], x[seq = -2..], over = seq) + 0 * x[seq = 1]
    pieces = e
    x = x.split(embed = (parts, half)) * pieces
    x = x.merge(embed = (parts, half)).transpose(order = (batch, seq, embed))
    for b in blocks { x = b(x) }
    r = outer(index(i32[u = 3], u), index(i32[w = 2], w))
    t = stop_gradient(cumsum(cast(r, f32), over = u)) + broadcast(1, as = (r, f32[u = 3]))
    n = random_normal(x) if training else 0
    c = sum(t) if not training else 0
    o = scatter(tokens, tokens, over = seq, into = vocab, size = vocab)
    return dot(x + 0 * n + 0 * c, wte, over = embed) + 0 * cast(o, f32) + min(max(x, over = embed), 0) * blocks[0].s
  }
}

train All {
  loss = nn.cross_entropy(All(tokens), targets, over = vocab)
  optimizer = Momentum(lr = wsd(peak = 1e-2, warmup = 2, steps = 9, decay = 3), clip = 1.0, decay = ["**.gain"], no_decay = "wte")
  data = data.text("${GOROOT}/src/*.go", tokenizer = bytes, window = seq, limit = 64 KiB)
  steps = 9
  seed = 3
}

layout first { }

layout second {
  mesh dp = 2, tp = 2, pp = 2
  shard batch over dp
  shard heads, ffn over tp
  shard vocab of wte over tp
  shard seq over tp between Block
  replicate blocks.*.wo over tp
  pipeline blocks over pp { schedule = 1f1b  microbatches = 2  stages = [1, 1] }
  zero 1 over dp
  recompute Block { keep = [mlp] }
  precision { compute = bf16  params = f32  reduce = f32 }
  offload optimizer to host { piece = 1 KiB }
  forbid all_to_all on wte
  device memory = 1 GiB
  overlap all_gather, reduce_scatter, all_reduce
  bucket = 1 MiB
  two_level = 64 KiB
}
`

// token is one token of the language, or the space before one.
var token = regexp.MustCompile(`\s+|//[^\n]*|"[^"\n]*"|[0-9]+\.[0-9]+(?:e-?[0-9]+)?|[\pL\pN_]+|\*\*|\.\.|->|[=!<>]=|.`)

var layoutName = regexp.MustCompile(`(?m)^layout (\w+)`)

// vandal damages a program.
type vandal struct {
	r     *rand.Rand
	toks  []string // with the spaces
	words []string // names and numbers of the program
	real  []int    // the places of tokens that are no space
}

func newVandal(seed uint64) (*vandal, string) {
	v := &vandal{r: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
	text := everything
	if v.r.IntN(2) == 0 {
		text = New(seed).Source()
	}
	layout := ""
	if names := layoutName.FindAllStringSubmatch(text, -1); v.r.IntN(4) > 0 {
		layout = names[len(names)-1][1]
	}
	v.toks = token.FindAllString(text, -1)
	v.index()
	for i := 1 + v.r.IntN(3); i > 0; i-- {
		v.damage()
		v.index()
	}
	return v, layout
}

func (v *vandal) index() {
	v.real, v.words = nil, nil
	for i, t := range v.toks {
		if strings.TrimSpace(t) == "" || strings.HasPrefix(t, "//") {
			continue
		}
		v.real = append(v.real, i)
		if isOperand(t) {
			v.words = append(v.words, t)
		}
	}
}

// isOperand reports whether t is a name, a word or a number.
func isOperand(t string) bool {
	r, _ := utf8.DecodeRuneInString(t)
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

func (v *vandal) pick(of ...string) string { return of[v.r.IntN(len(of))] }

func (v *vandal) place() int { return v.real[v.r.IntN(len(v.real))] }

// damage changes one place.
func (v *vandal) damage() {
	if len(v.real) == 0 || len(v.words) == 0 {
		return
	}
	i, j := v.place(), v.place()
	switch v.r.IntN(11) {
	case 0:
		v.toks[i] = ""
	case 1:
		v.toks[i] += " " + v.toks[i]
	case 2:
		v.toks[i], v.toks[j] = v.toks[j], v.toks[i]
	case 3:
		v.toks[i] = v.toks[j]
	case 4:
		v.toks[i] = v.any()
	case 5, 6: // an operand
		for range 20 {
			if k := v.place(); isOperand(v.toks[k]) {
				i = k
				break
			}
		}
		v.toks[i] = v.expr(3)
	case 7, 8: // another item of a block
		for range 50 {
			if k := v.place(); v.toks[k] == "{" {
				v.toks[k] += "\n" + v.item() + "\n"
				return
			}
		}
	case 9: // one name becomes another, everywhere
		from, to := v.word(), v.word()
		for k, t := range v.toks {
			if t == from {
				v.toks[k] = to
			}
		}
	case 10: // a number
		for range 50 {
			if k := v.place(); v.toks[k][0] >= '0' && v.toks[k][0] <= '9' {
				v.toks[k] = v.number()
				return
			}
		}
	}
}

func (v *vandal) word() string { return v.words[v.r.IntN(len(v.words))] }

func (v *vandal) number() string {
	return v.pick("0", "1", "2", "3", "5", "8", "12", "1.5", "0.0", "1e300", "1e-300", "4294967296", "9007199254740993", "inf", "1 KiB", "0.3 GiB", "-1", "1f1b", "0x10")
}

// any is a token of the language.
func (v *vandal) any() string {
	switch v.r.IntN(4) {
	case 0:
		return v.word()
	case 1:
		return v.number()
	case 2:
		return v.pick("+", "-", "*", "/", "%", "**", "==", "!=", "<", "<=", ">", ">=", "=", "->", "..", ".", ",", ":", ";", "~", "(", ")", "[", "]", "{", "}")
	}
	return v.pick("fn", "let", "return", "for", "if", "else", "and", "or", "not", "true", "false", "inf", "like", "param", "state", "model", "module", "optimizer",
		"import", "config", "train", "layout", "over", "of", "to", "on", "between", "in", "as", "mesh", "shard", "zero", "training", "step", "nan", "axis", "number", "string",
		"i32", "bool", "bf16", "f16", "f64", "f32", `"x"`, `""`, "µ", "größe")
}

// functions are those of the language and the standard library.
var functions = strings.Fields(`exp log tanh sqrt rsqrt sigmoid sin abs sign floor pow max min sum mean dot where cast stop_gradient index size len rename split
	merge transpose broadcast outer concat scatter random_uniform random_normal source one_of byte_size require relu silu gelu softmax logsumexp clamp cumsum
	constant linear cosine wsd nn.Linear nn.rope nn.attention nn.cross_entropy nn.mse nn.route nn.MoE optim.SGD optim.AdamW optim.Lion data.text data.synthetic
	data.synthetic_tokens zeros ones normal uniform`)

// expr is an expression of the grammar over the program's names.
func (v *vandal) expr(depth int) string {
	if depth == 0 {
		return v.pick(v.word(), v.number(), v.word(), v.any())
	}
	sub := func() string { return v.expr(depth - 1) }
	switch v.r.IntN(14) {
	case 0:
		return "-" + sub()
	case 1:
		return "(not " + sub() + ")"
	case 2, 3:
		return sub() + v.pick(" + ", " - ", " * ", " / ", " % ", " ** ", " == ", " < ", " >= ", " and ", " or ") + sub()
	case 4, 5:
		return functions[v.r.IntN(len(functions))] + "(" + v.args(depth) + ")"
	case 6:
		return v.word() + "(" + v.args(depth) + ")"
	case 7:
		return sub() + "." + functions[v.r.IntN(40)] + "(" + v.args(depth) + ")"
	case 8:
		return sub() + "[" + v.word() + " = " + v.pick(sub(), v.number()+".."+v.number(), "..", "1..") + "]"
	case 9:
		return v.pick("f32", "i32", "bool", "") + "[" + v.word() + ", " + v.word() + " = " + sub() + "]"
	case 10:
		return "(" + sub() + " if " + sub() + " else " + sub() + ")"
	case 11:
		return "(" + sub() + ", " + sub() + ")"
	case 12:
		return sub() + "." + v.word()
	}
	return v.word() + "[" + sub() + "]"
}

func (v *vandal) args(depth int) string {
	var out []string
	for range v.r.IntN(4) {
		a := v.expr(depth - 1)
		if v.r.IntN(2) == 0 {
			a = v.pick(v.word(), "over", "as", "x", "y", "to", "axis") + " = " + a
		}
		out = append(out, a)
	}
	return strings.Join(out, ", ")
}

func (v *vandal) typ() string {
	return v.pick("["+v.word()+", "+v.word()+" = "+v.expr(1)+"]", "i32["+v.word()+"]", "like "+v.word(), "f32 like param", "f32", "bool", "axis", "[]", "("+v.word()+", [])")
}

func (v *vandal) path() string {
	return v.pick(v.word(), v.word()+"."+v.word(), v.word()+".*."+v.word(), "**", "*", v.word()+".0", "**."+v.word())
}

// item is an item of a block: a directive, an entry, a statement or a member.
func (v *vandal) item() string {
	w, p := v.word(), v.path()
	over := " over " + v.pick("dp", "tp", "pp", w, "(dp, tp)", "(tp, dp)", "("+v.word()+", "+w+")")
	options := v.pick("", "", "{ }", "{ "+v.pick("schedule", "microbatches", "chunks", "stages", "attention", "order", "prefetch", "keep", "budget", "piece", w)+" = "+
		v.pick("gpipe", "1f1b", "interleaved", "zb_h1", "zb_v", "dualpipe_v", "ring", "gather", "zigzag", "[1, 1]", "[2, 1, 1]", "2", "4", v.number(), v.expr(1))+" }")
	switch v.r.IntN(22) {
	case 0:
		return "mesh " + w + " = " + v.number() + ", " + v.pick("dp", "tp", v.word()) + " = 2"
	case 1, 2:
		return "shard " + w + v.pick("", ", "+v.word(), " of "+p, " of "+p+", "+v.path()) + over + v.pick("", " between "+p) + options
	case 3:
		return "replicate " + p + v.pick("", over)
	case 4:
		return "pipeline " + v.pick("blocks", p) + v.pick(" over pp ", over) + options
	case 5:
		return "zero " + v.pick("1", "2", "3", v.number()) + over + options
	case 6:
		return "recompute " + v.pick(p, "auto", "Block", "auto, "+p) + options
	case 7:
		return "precision { " + v.pick("compute", "params", "reduce", "loss_scale", w) + " = " + v.pick("f16", "bf16", "f32", "dynamic", v.number(), w) + v.pick("", " compute = f16") + " }"
	case 8:
		return "offload " + v.pick("optimizer", "activations", "optimizer, activations", w) + v.pick("", " of "+p) + " to " + v.pick("host", "disk", w) + options
	case 9:
		return "forbid " + v.pick("all_gather", "all_reduce", w) + v.pick("", " on "+p)
	case 10:
		return "device memory = " + v.pick(v.number(), "20 KiB", "1 GiB", v.expr(2))
	case 11:
		return "overlap " + v.pick("none", "all_gather", "permute, none", w)
	case 12:
		return v.pick("bucket", "two_level", w) + " = " + v.pick(v.number(), v.expr(2))
	case 13, 14, 15:
		return w + v.pick("", ", "+v.word(), " : "+v.typ()) + " = " + v.expr(3)
	case 16:
		return "return " + v.expr(2) + v.pick("", ", "+v.expr(1))
	case 17:
		return "for " + w + " in " + v.expr(1) + " { " + v.word() + " = " + v.expr(2) + " }"
	case 18:
		return "if " + v.expr(2) + " { " + w + " = " + v.expr(2) + " } else { }"
	case 19:
		return v.pick("param", "state") + " " + w + " : " + v.typ() + " ~ " + v.pick("zeros", "ones", "normal("+v.args(2)+")", "uniform("+v.args(2)+")", v.expr(1))
	case 20:
		return w + " : " + v.pick("nn.Linear", "nn.MLP", "nn.MoE", "Block", v.word()) + v.pick("", "("+v.args(2)+")") + v.pick("", "[2]", "["+v.number()+"]")
	}
	return v.pick("let "+w+" = "+v.expr(2), "fn "+w+"("+v.word()+v.pick("", ": "+v.typ(), " = "+v.expr(1))+") { return "+v.expr(2)+" }")
}

// compileDamaged compiles a program; what it returns is a bug of ptc.
func compileDamaged(text, layout string, all bool) (bug error) {
	defer func() {
		if p := recover(); p != nil {
			bug = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	start := time.Now()
	source, err := lowerDamaged(text, layout)
	if err == nil && all {
		_, _, err = compiler.Compile(compiler.Options{File: "damaged.ptl", Source: []byte(text), Layout: layout, Target: "ref"})
	}
	var b *compiler.Bug
	switch errs, ok := diag.As(err); {
	case errors.As(err, &b):
		return fmt.Errorf("internal error: %w", err)
	case err != nil && !ok:
		return fmt.Errorf("an error without a code: %w", err)
	case ok:
		diag.Plain.Render(errs, source)
		for _, e := range errs {
			if e.Code == "" || strings.Contains(e.Msg, "internal error") {
				return fmt.Errorf("not a user's error: %w", e)
			}
		}
	}
	if took := time.Since(start); took > 5*time.Minute {
		return fmt.Errorf("took %v", took)
	}
	return nil
}

// lowerDamaged runs the language alone, and verifies what it gives.
func lowerDamaged(text, layout string) (func(string) (string, bool), error) {
	p, errs := lang.Load("damaged.ptl", []byte(text), nil)
	if len(errs) > 0 {
		return p.Source, errs
	}
	r, errs := p.Lower(lang.Options{Layout: layout})
	if len(errs) > 0 {
		return p.Source, errs
	}
	if bad := verify.Module(r.Module); len(bad) > 0 {
		return p.Source, &compiler.Bug{Err: fmt.Errorf("what the language gives is invalid: %w", bad)}
	}
	return p.Source, nil
}

// TestDamagedPrograms: whatever the source, compiling it gives a plan or the
// user's mistakes, and never a bug of ptc. Programs are made from a seed, and then
// tokens of them deleted, doubled, exchanged and replaced, by other tokens and by
// expressions and items made from the grammar.
func TestDamagedPrograms(t *testing.T) {
	found := 0
	for k := range uint64(*damagedCases) {
		seed := *damagedSeed + k
		v, layout := newVandal(seed)
		text := strings.Join(v.toks, "")
		if bug := compileDamaged(text, layout, seed%*damagedShare == 0); bug != nil {
			if found++; found <= 10 {
				t.Errorf("seed %d, layout %q: %v\n%s", seed, layout, bug, text)
			}
		}
	}
}

// The program of all constructs compiles under both of its layouts.
func TestEverythingCompiles(t *testing.T) {
	for _, layout := range []string{"first", "second"} {
		if _, r, err := compiler.Compile(compiler.Options{File: "everything.ptl", Source: []byte(everything), Layout: layout, Target: "ref"}); err != nil {
			errs, _ := diag.As(err)
			t.Errorf("%s: %v\n%s", layout, err, diag.Plain.Render(errs, r.Source))
		}
	}
}
