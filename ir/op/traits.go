package op

import (
	"slices"

	"ptc/ir"
)

// Traits are what passes ask of an operation instead of its name. An operation may
// have several: a reduce-scatter reduces and scatters, an all-to-all gathers along
// one axis and scatters along another.
type Traits uint32

// Of collectives: what happens along the group `over`.
const (
	// Exchanges: devices of a group send each other data, all at once. A slice of
	// one's own shard sends nothing.
	Exchanges Traits = 1 << iota
	// Reduces: the result combines what the devices have.
	Reduces
	// Gathers: the result has an axis whole that is sharded before.
	Gathers
	// Scatters: the result has a device's own shard of an axis that is whole before.
	Scatters
)

// Of what goes between two devices, or between the memories of one.
const (
	Sends Traits = 1 << (iota + 4)
	Receives
	// Loads: copies from another memory into the device's.
	Loads
	// Stores: copies from the device's memory into another.
	Stores
	// Starts: it may be issued here and complete at a later `done`.
	Starts
	// Completes: it waits for what was started; results are in its operands' place.
	Completes

	// Message: from device to device, along one mesh axis.
	Message = Sends | Receives
	// Copies: between memories of one device.
	Copies = Loads | Stores
)

// Of what moves nothing.
const (
	// Views: the result is a range of its operand's bytes.
	Views Traits = 1 << (iota + 10)
	// Joins: the result's bytes are its operands', one behind the other.
	Joins
	// SameValue: result i is operand i in another sharding or place; of the whole
	// mesh, nothing is computed.
	SameValue
	// ByName: it changes neither names nor sizes of the axes that its operand has, so
	// that a computation that addresses elements by name need do nothing for it.
	ByName
	// Calls: it runs a function of the module.
	Calls
	// Converts: the result is the operand in another dtype.
	Converts

	// InPlace: results are in the memory of operands, or the other way about.
	InPlace = Views | Joins
)

// Of arithmetic.
const (
	// Commutes: the operands may be exchanged, up to the order of the result's axes.
	Commutes Traits = 1 << (iota + 16)
	// Idempotent: of a value and itself it is that value.
	Idempotent
	// Involution: applied twice, it gives its operand.
	Involution
)

// Has reports whether o has any of the traits.
func Has(o *ir.Op, t Traits) bool {
	d := Lookup(o.Name)
	return d != nil && d.Traits&t != 0
}

// With lists the names of the operations that have any of the traits.
func With(t Traits) []string {
	var names []string
	for _, d := range All() {
		if d.Traits&t != 0 {
			names = append(names, d.Name)
		}
	}
	return names
}

// Takes reports whether the operation has an attribute of that name.
func (d *Def) Takes(attr string) bool {
	return slices.ContainsFunc(d.Attrs, func(s AttrSpec) bool { return s.Key == attr })
}

// Linearity says in which operands an operation is linear: of sums of those, term by
// term, it gives the sum of its results. Devices' partial sums may then pass through
// it, and be reduced behind it instead of before.
type Linearity struct {
	// All: in all of its operands together.
	All bool
	// Early, of what is linear in all: partial sums are reduced before it all the
	// same, because others read them too, and they are reduced once.
	Early bool
	// In, of what is not linear in all, are sets of operands in which it is linear as
	// long as the others are given, of floats: of a product either one.
	In [][]int
}

// Carries reports whether partial sums pass through the operation as a whole.
func (l Linearity) Carries() bool { return l.All && !l.Early }
