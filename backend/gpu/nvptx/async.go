package nvptx

import (
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
)

// copies run by themselves.
type copies struct{ *memory }

func (b *copies) CopyAsync(to thread.Shared, from thread.Pointer, a thread.Access, only *thread.Value) {
	bytes := int64(max(1, a.N) * from.Elem.Bytes())
	name := "cp.async.ca.shared.global"
	switch {
	case bytes == 16: // past the first cache, which has no use for it
		name = "cp.async.cg.shared.global.L2::128B"
	case bytes != 4 && bytes != 8 || to.Elem != from.Elem:
		b.Fail(fmt.Errorf("a copy of %d bytes of %s to %s", bytes, from.Elem, to.Elem))
		return
	}
	args := []ptx.Operand{b.local(to), b.global(from), ptx.Imm(bytes)}
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

func (b *copies) Commit() { b.op("cp.async.commit_group") }

func (b *copies) Await(n int) { b.op("cp.async.wait_group", ptx.Imm(int64(n))) }
