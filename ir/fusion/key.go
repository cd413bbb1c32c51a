package fusion

import (
	"crypto/sha256"
	"encoding/hex"

	"ptc/ir"
)

// Key names what f computes: functions that print alike, but for their own name, the
// numbers of values and the class, have the same key. It is the same for a kernel and for
// a section of a horizontal one. Its form is 32 hexadecimal digits of a SHA-256.
func Key(f *ir.Func) string {
	f = f.Clone()
	f.Name, f.Attrs = "kernel", f.Attrs.With("kind", nil)
	f.Renumber()
	sum := sha256.Sum256([]byte(ir.PrintFunc(f)))
	return hex.EncodeToString(sum[:16])
}
