package thread

import (
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/kernel"
)

// CopyAsync starts a copy of neighbours from global to shared memory, 4, 8 or 16 bytes. They
// are zeros where a.If does not hold and behind those that a.Have says, and nothing is written where only does not, if it is not nil.
// The copy has ended when [Builder.Await] says so.
func (b *Builder) CopyAsync(to Shared, from Pointer, a Access, only *Value) {
	bytes := int64(max(1, a.N) * from.Elem.Bytes())
	name := "cp.async.ca.shared.global"
	switch {
	case bytes == 16: // past the first cache, which has no use for it
		name = "cp.async.cg.shared.global.L2::128B"
	case bytes != 4 && bytes != 8 || to.Elem != from.Elem:
		b.fail(fmt.Errorf("a copy of %d bytes of %s to %s", bytes, from.Elem, to.Elem))
		return
	}
	args := []ptx.Operand{ptx.At(to.at.Reg, to.plus), ptx.At(from.at.Reg, from.plus), ptx.Imm(bytes)}
	have := ptx.Imm(bytes)
	if a.Have != nil {
		have = b.product(kernel.I32, b.operand(a.Have), ptx.Imm(int64(from.Elem.Bytes())))
	}
	switch {
	case a.If != nil:
		args = append(args, b.pure(ptx.B32, "selp.b32", have, ptx.Imm(0), b.operand(a.If)))
	case a.Have != nil:
		args = append(args, have)
	}
	b.guarded(only, name, args...)
}

// Commit closes a group: the thread's copies since the last one.
func (b *Builder) Commit() { b.op("cp.async.commit_group") }

// Await waits until at most n of the thread's groups have copies under way.
func (b *Builder) Await(n int) { b.op("cp.async.wait_group", ptx.Imm(int64(n))) }
