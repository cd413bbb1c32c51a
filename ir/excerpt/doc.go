// Package excerpt makes functions with fewer instances of their stacks and fewer
// microbatches, of which a proof about places in memory holds for all of them.
//
// In: a function of ir(Planned). Out: the same with at most as many instances and
// microbatches as the proof needs, whatever the number of layers; few are left as they
// are. [Places] says where each value is.
//
// Invariant: the excerpt has as many instances as the theorem of internal/rolled asks for. Values
// that instances have in rows, side by side, form a frame: all of one stack in one memory that lie
// in each other's stretch. In the excerpt a frame has fewer places, in a range of addresses
// for itself behind all memories, and [Frame] says which bytes all of its places take in
// truth. Everything else is where it was. Whoever proves something of an excerpt compares an
// access to a frame with others to the same frame by its addresses in the excerpt, and with
// everything else by all bytes of the frame ([Spot]): those of any instance.
//
// Of microbatches, the excerpt has one for each order of its ticks, and a second one for
// the first order, one after the other. What microbatches have each in a ring of places
// ([Row]) is a frame, in which each of those few has a place for itself. So every task
// has a tick between two ticks of any other, whatever order the table has, and finds all
// places of a ring in use meanwhile. Which microbatches share a place of a ring, and
// whether one is through with it when the next one comes, the excerpt does not say:
// that is a matter of the table of ticks alone. If something runs once between ticks, the
// excerpt has the entire table.
//
// Where places are such that this does not apply, the whole function is the excerpt.
// Imports internal/ranges, internal/rolled, ir, ir/op.
package excerpt
