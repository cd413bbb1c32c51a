package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"ptc/backend/gpu/ptx"
)

// dialect rewrites PTX as LLVM prints it into what package ptx reads: numbers of registers by class alone,
// parameters of 64 bits or of bytes, one instruction a line, nothing for debuggers. An instruction that
// ptc does not use, and the emulator does not know, becomes those that do the same.
func dialect(text string) (*ptx.Module, error) {
	if i := strings.Index(text, "\n\t.file"); i >= 0 {
		text = text[:i] // sections for debuggers are behind it
	}
	d := &rewriter{}
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "//")
		d.line(strings.Join(strings.Fields(line), " "))
	}
	m, err := ptx.Parse(d.out.String())
	if err == nil && len(m.Entries) != 1 {
		err = fmt.Errorf("%d kernels; expected 1", len(m.Entries))
	}
	return m, err
}

// rewriter is how far dialect has come.
type rewriter struct {
	out    strings.Builder
	entry  string
	memory string            // the name of the shared memory that a launch gives
	depth  int               // of braces
	scopes int               // so far
	local  map[string]string // names of the innermost scope, which have others here
	params bool              // between the parentheses of an entry
	spare  int               // registers that are ours
}

// firstSpare is beyond what a compiler numbers.
const firstSpare = 500000

var (
	classes = regexp.MustCompile(`%(rd|rs)(\d+)`)
	array   = regexp.MustCompile(`^\.extern \.shared \.align \d+ \.b8 (\w+)\[\];$`)
	scalar  = regexp.MustCompile(`^\.param \.[ubsf](\d+) (?:\.ptr .* )?(\w+)(,?)$`)
	braces  = regexp.MustCompile(`([{\[]) | ([}\]])`)
	sink    = regexp.MustCompile(`\b_\b`)
	added   = regexp.MustCompile(`^(\{[^}]*\}, (?:\{[^}]*\}|%\w+), %\w+, )([01])(,.*)$`)
	word    = regexp.MustCompile(`[%$\w]+`)
	hexa    = regexp.MustCompile(`\b0x[0-9a-fA-F]+\b`)
)

// line takes a line without its comment.
func (d *rewriter) line(line string) {
	switch m := []string(nil); {
	case line == "" || d.depth > 0 && (strings.HasPrefix(line, ".loc ") || strings.HasPrefix(line, ".pragma ")):
	case strings.HasPrefix(line, ".extern"):
		if m = array.FindStringSubmatch(line); m != nil {
			d.memory = m[1]
			return
		}
		d.put(line)
	case strings.HasPrefix(line, ".visible .entry "):
		d.entry = strings.TrimSuffix(strings.TrimPrefix(line, ".visible .entry "), "(")
		if d.memory != "" {
			d.put(".extern .shared .align 1024 .b8 " + d.entry + "_" + ptx.DynamicName + "[];")
		}
		d.put(line)
		d.params = true
	case d.params && line == ")":
		d.params = false
	case d.params:
		d.param(line)
	case strings.HasPrefix(line, ".maxnreg "): // what threads of one block a multiprocessor have, where they move registers
		d.put(".minnctapersm 1")
	case d.depth == 0 && strings.HasPrefix(line, ".global "): // text of a compiler's library, which nothing reads
	case line == "{":
		if d.depth++; d.depth > 1 {
			d.scopes++
			d.local = map[string]string{}
			return
		}
		d.put(line)
	case line == "}":
		if d.depth--; d.depth > 0 {
			d.local = nil
			return
		}
		d.put(line)
	default:
		d.statement(line)
	}
}

func (d *rewriter) put(line string) { d.out.WriteString(line + "\n") }

func (d *rewriter) param(line string) {
	if m := scalar.FindStringSubmatch(line); m != nil && m[1] == "64" {
		line = ".param .u64 " + m[2] + m[3]
	} else if m != nil {
		bits, _ := strconv.Atoi(m[1])
		line = fmt.Sprintf(".param .align %d .b8 %s[%d]%s", bits/8, m[2], bits/8, m[3])
	}
	if !strings.HasSuffix(line, ",") {
		line += ")"
	}
	d.put(line)
}

// statement takes a directive, a label or an instruction of a body.
func (d *rewriter) statement(line string) {
	if d.depth == 0 {
		d.put(line)
		return
	}
	if name, ok := strings.CutSuffix(line, ":"); ok {
		if d.local != nil {
			d.local[name] = fmt.Sprintf("%s_%d", name, d.scopes)
		}
		d.put(d.names(line))
		return
	}
	if decl, ok := strings.CutPrefix(line, ".reg "); ok {
		if kind, names, _ := strings.Cut(strings.TrimSuffix(decl, ";"), " "); d.local != nil {
			for _, n := range strings.Split(names, ",") {
				d.local[strings.TrimSpace(n)] = d.register(kind)
			}
		}
		return
	}
	line = classes.ReplaceAllStringFunc(line, func(r string) string {
		return strings.NewReplacer("%rd", "%d", "%rs", "%h").Replace(r)
	})
	line = hexa.ReplaceAllStringFunc(line, func(h string) string {
		n, _ := strconv.ParseUint(h[2:], 16, 64)
		return strconv.FormatInt(int64(n), 10)
	})
	line = braces.ReplaceAllString(strings.ReplaceAll(line, " + ", "+"), "$1$2")
	for _, s := range strings.SplitAfter(line, ";") {
		if s = strings.TrimSpace(s); s != "" {
			d.instruction(d.names(s))
		}
	}
}

// names replaces those of the innermost scope, and that of the shared memory that a launch gives.
func (d *rewriter) names(line string) string {
	return word.ReplaceAllStringFunc(line, func(w string) string {
		if to, ok := d.local[w]; ok {
			return to
		}
		if w == d.memory {
			return d.entry + "_" + ptx.DynamicName
		}
		return w
	})
}

// register is one of our own.
func (d *rewriter) register(kind string) string {
	d.spare++
	class := map[string]string{".pred": "%p", ".b16": "%h", ".b64": "%d"}[kind]
	if class == "" {
		class = "%r"
	}
	return class + strconv.Itoa(firstSpare+d.spare)
}

// instruction prints one, or what does the same.
func (d *rewriter) instruction(line string) {
	guard, rest := "", line
	if strings.HasPrefix(line, "@") {
		guard, rest, _ = strings.Cut(line, " ")
		guard += " "
	}
	op, args, _ := strings.Cut(strings.TrimSuffix(rest, ";"), " ")
	words := strings.Split(args, ", ")
	put := func(format string, a ...any) { d.put(guard + fmt.Sprintf(format, a...) + ";") }
	family, _, _ := strings.Cut(op, ".")
	switch family {
	case "mov": // halves of a register of which one is not wanted
		args = sink.ReplaceAllStringFunc(args, func(string) string { return d.register(".b" + strconv.Itoa(half(op))) })
	case "wgmma": // whether a product is added to what is there, as a number
		if m := added.FindStringSubmatch(args); m != nil {
			p := d.register(".pred")
			d.put("setp.ne.u32 " + p + ", " + m[2] + ", 0;")
			args = m[1] + p + m[3]
		}
	}
	switch op {
	case "bra.uni":
		put("bra %s", args)
	case "bfe.u32", "bfe.s32": // bits from one on, so many
		at, _ := strconv.Atoi(words[2])
		n, _ := strconv.Atoi(words[3])
		t := d.register(".b32")
		put("shl.b32 %s, %s, %d", t, words[1], 32-at-n)
		put("shr.%s %s, %s, %d", op[4:], words[0], t, 32-n)
	case "mbarrier.init.shared::cta.b64": // of a block alone, compilers leave the fence out that PTX asks for
		put("%s %s", op, args)
		put("fence.mbarrier_init.release.cluster")
	case "fence.proxy.async.shared::cluster": // of the cluster's shared memory, a part of what is fenced
		put("fence.proxy.async")
	case "mbarrier.try_wait.parity.shared::cta.b64": // of the phase's number, the lowest bit counts
		parity := d.register(".b32")
		put("and.b32 %s, %s, 1", parity, words[2])
		put("%s %s, %s, %s", op, words[0], words[1], parity)
	case "barrier.sync": // all lanes of a warp are there: the emulator looks
		put("barrier.sync.aligned %s", args)
	case "div.full.f32": // division to 2 units in the last place
		put("div.rn.f32 %s", args)
	default:
		put("%s", strings.TrimSpace(op+" "+args))
	}
}

// half is the bits of half a register that a move takes apart, whose name ends in the bits of the whole.
func half(op string) int {
	n, _ := strconv.Atoi(op[strings.LastIndexByte(op, 'b')+1:])
	return n / 2
}
