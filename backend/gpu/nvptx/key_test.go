package nvptx

import (
	"testing"

	"ptc/backend/gpu/ptx"
)

// Instructions that are written differently are looked for under different keys, and others under the same.
func TestKeysOfOperands(t *testing.T) {
	r, s := ptx.Reg{Class: ptx.B32, N: 1}, ptx.Reg{Class: ptx.B64, N: 1}
	lists := [][]ptx.Operand{
		{}, {ptx.R(r)}, {ptx.R(s)}, {ptx.R(r), ptx.R(s)}, {ptx.R(s), ptx.R(r)}, {ptx.Vec(ptx.R(r), ptx.R(s))}, {ptx.Vec(ptx.R(r)), ptx.R(s)},
		{ptx.Pair(ptx.R(r), ptx.R(s))}, {ptx.Imm(1)}, {ptx.Imm(-1)}, {ptx.Imm(128)}, {ptx.Imm(1), ptx.Imm(2)}, {ptx.Imm(12)}, {ptx.At(s, 0)}, {ptx.At(s, 4)},
		{ptx.Sym("a")}, {ptx.Sym("ab")}, {ptx.Sym("a"), ptx.Sym("b")}, {ptx.AtSym("a", 0)}, {ptx.AtSym("a", 4)},
	}
	texts := map[string]string{}
	for _, args := range lists {
		text := (&ptx.Stmt{Op: "mov", Args: args}).String()
		key := string(appendOperands(nil, args))
		if other, some := texts[key]; some {
			t.Errorf("%s and %s have one key", text, other)
		}
		texts[key] = text
		if again := string(appendOperands([]byte{}, args)); again != key {
			t.Errorf("%s has two keys", text)
		}
	}
}
