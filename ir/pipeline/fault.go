package pipeline

import "fmt"

// Rule is what a schedule violates.
type Rule string

// The rules, in the order in which they are checked.
const (
	// BadShape: a size, a cost or a bound that cannot be.
	BadShape Rule = "shape"
	// Misplaced: a slot on a device to which it does not belong.
	Misplaced Rule = "misplaced"
	// Duplicate: work that happens more than once.
	Duplicate Rule = "duplicate"
	// Missing: work that never happens.
	Missing Rule = "missing"
	// Order: a device runs something before what it reads is there, or microbatches
	// out of turn.
	Order Rule = "order"
	// Deadlock: devices wait for each other in a circle.
	Deadlock Rule = "deadlock"
)

// Fault is the error of every check of this package. Text is a sentence or, for
// a deadlock, a list of who waits for whom.
type Fault struct {
	Rule Rule
	Text string
}

func (f *Fault) Error() string { return f.Text }

func faultf(r Rule, format string, args ...any) *Fault {
	return &Fault{Rule: r, Text: fmt.Sprintf(format, args...)}
}
