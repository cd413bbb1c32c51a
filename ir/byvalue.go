package ir

// ByValue holds something of values of one function, by their numbers: what passes ask of
// every operand, a map answers in several times the time. Its zero value holds nothing.
type ByValue[T any] struct{ held []kept[T] }

type kept[T any] struct {
	is    T
	known bool
}

// ByValueOf has room for all values of f.
func ByValueOf[T any](f *Func) ByValue[T] { return ByValue[T]{make([]kept[T], f.nextID)} }

// Of is what is held of v, or nothing.
func (b *ByValue[T]) Of(v *Value) (is T) {
	if v.ID < len(b.held) {
		is = b.held[v.ID].is
	}
	return is
}

// Lookup is what is held of v, and whether anything is.
func (b *ByValue[T]) Lookup(v *Value) (is T, ok bool) {
	if v.ID < len(b.held) {
		return b.held[v.ID].is, b.held[v.ID].known
	}
	return is, false
}

// Set holds x of v.
func (b *ByValue[T]) Set(v *Value, x T) {
	if more := v.ID + 1 - len(b.held); more > 0 {
		b.held = append(b.held, make([]kept[T], more)...)
	}
	b.held[v.ID] = kept[T]{x, true}
}
