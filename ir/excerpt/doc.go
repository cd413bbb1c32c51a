// Package excerpt makes functions with fewer instances of their stacks and fewer
// microbatches, of which a proof about places in memory holds for all of them.
//
// In: a function of ir(Planned). Out: the same with at most as many instances and
// microbatches as the proof needs, whatever the number of layers; few are left as they
// are.
//
// What instances have each in a place of its own, side by side, is a frame: all of one
// stack in one memory that lies in each other's stretch. In the excerpt a frame has
// fewer places, in a range of addresses for itself behind all memories, and [Frame] says
// which bytes all of its places take in truth. Everything else is where it was. Whoever
// proves something of an excerpt treats an access to a frame as one to the range in
// the excerpt, among what is of the same frame, and as one to all bytes of the frame,
// for everything else. Then the proof holds for the whole function:
//
//   - Two accesses to one frame meet if the places of their instances are less than
//     some number e apart, and what is between them in time depends on how many
//     instances they are apart alone, and on whether one is the first or the last. The
//     excerpt has more than e instances, and so each such pair.
//   - Two accesses to what lies in turns in rings of places, or in one place for all,
//     meet or not by the numbers of their instances modulo the rings' lengths. Instances
//     that are in use at once are at most as far apart as operations are ahead. The
//     excerpt has at least two of each number modulo all rings, more than that far apart,
//     and as many as the stack modulo all rings, so that first and last instance are
//     where they are in truth.
//   - Between an access to a frame and one to anything else, all bytes of the frame
//     stand for those of any instance.
//
// Of microbatches, the excerpt has one for each order of its turns, and a second one for
// the first order, one after the other. What microbatches have each in a ring of places
// ([Row]) is a frame, in which each of those few has a place for itself. So every task
// has a turn between two turns of any other, whatever order the table has, and finds all
// places of a ring in use meanwhile. Which microbatches share a place of a ring, and
// whether one is through with it when the next one comes, the excerpt does not say:
// that is a matter of the table of turns alone. Something that runs once between turns
// takes the whole table.
//
// Where places are such that this does not apply, the whole function is the excerpt.
// Imports ir, ir/op.
package excerpt
