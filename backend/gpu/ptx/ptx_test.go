package ptx

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sample() *Module {
	r := func(c Class, n int) Operand { return R(Reg{c, n}) }
	vec := Vec(r(B32, 0), r(B32, 1))
	return &Module{Version: "8.3", Target: "sm_90a", Entries: []*Entry{
		{Name: "none", Threads: 32, Body: []Stmt{{Op: "ret"}}},
		{
			Name: "k", Params: []Param{{Name: "x"}, {Name: "map", Bytes: 128, Align: 64}, {Name: "n"}},
			Threads: 256, Blocks: 2, Cluster: 2, Dynamic: true, Static: []Shared{{"s", 512, 16}},
			Body: []Stmt{
				{Op: "ld.param.u64", Args: []Operand{r(B64, 0), AtSym("x", 0)}},
				{Op: "mov.u32", Args: []Operand{r(B32, 0), Sym("%tid.x")}},
				{Op: "mov.b32", Args: []Operand{r(B32, 3), {Kind: IsF32, Imm: 0x3f800000}}},
				{Op: "mov.b64", Args: []Operand{r(B64, 3), {Kind: IsF64, Imm: -1 << 63}}},
				{Op: "mov.u32", Args: []Operand{r(B32, 4), Sym(DynamicName)}},
				{Op: "setp.lt.s32", Args: []Operand{r(Pred, 0), r(B32, 0), Imm(-7)}},
				{Label: "L0"},
				{Guard: Reg{Pred, 0}, Not: true, Op: "ld.global.v2.b32", Args: []Operand{vec, At(Reg{B64, 0}, -8)}},
				{Op: "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes", Args: []Operand{
					At(Reg{B32, 4}, 1024), {Kind: IsTensor, Symbol: "map", Vec: vec.Vec}, AtSym(DynamicName, 16)}},
				{Op: "selp.b16", Args: []Operand{r(B16, 0), r(B16, 1), Imm(0), {Kind: IsNot, Reg: Reg{Pred, 0}}}},
				{Op: "elect.sync", Args: []Operand{Pair(Sym("_"), r(Pred, 1)), Imm(-1)}},
				{Op: "fence.proxy.async"},
				{Guard: Reg{Pred, 0}, Op: "bra", Args: []Operand{Sym("L0")}},
				{Op: "ret"},
			},
		},
	}}
}

func TestText(t *testing.T) {
	m := sample()
	text := m.String()
	again, err := Parse(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if diff := cmp.Diff(m, again); diff != "" {
		t.Errorf("what is read is not what was printed:\n%s", diff)
	}
	for _, want := range []string{".reg .b32 %r<5>;", ".reg .b64 %d<4>;", "[%d0+-8]", "@!%p0 ld.global.v2.b32 {%r0, %r1}", "0f3F800000", "[map, {%r0, %r1}]", "elect.sync _|%p1, -1;", "k_dynamic"} {
		if !strings.Contains(text, want) {
			t.Errorf("`%s` is missing in\n%s", want, text)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, text := range []string{
		"x", ".address_size 32", ".extern .global .b8 x[];", ".visible .func f()", ".visible .entry k(\n.param .f32 x)",
		".visible .entry k()\n.reqntid x\n{\n}", ".visible .entry k()\n{", ".visible .entry k()\n{\nret\n}", ".visible .entry k()\n{\n@%r1 ret;\n}",
		".visible .entry k()\n{\nmov.u32 %r0, 0fzz;\n}", ".visible .entry k()\n{\nmov.u32 %r0, ;\n,}", ".visible .entry k()\n{\nld.b32 %r0, [5];\n}",
		".visible .entry k()\n{\n.shared .align 0 .b8 x[4];\n}", ".visible .entry k(", ".visible .entry k(\n.param .align 0 .b8 m[128])",
		".visible .entry k()\n{\nelect.sync %r0|%p0|%p1, -1;\n}", ".visible .entry k()\n{\nelect.sync %r0|, -1;\n}", ".visible .entry k()\n{\nx [5, {%r0}];\n}", ".visible .entry k()\n{\nx [%d0, %r0];\n}",
	} {
		if _, err := Parse(text); err == nil {
			t.Errorf("accepted:\n%s", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample().String())
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse(text)
		if err != nil {
			return
		}
		printed := m.String()
		again, err := Parse(printed)
		if err != nil {
			t.Fatalf("%v in\n%s", err, printed)
		}
		if got := again.String(); got != printed {
			t.Errorf("printed\n%s\nthen\n%s", printed, got)
		}
	})
}
