// Package rolled is the structure of a program that writes once what it does many times.
//
// In: a [Text], the operations of a program in their order, with its runs, tasks and ticks; and
// [Spread], where the instances of a value lie. Out: a [Program], which yields the operations as they
// are issued; [Few] instances that stand for all; [Groups] of places that meet.
// Invariant: modules (package ir) and plans (runtime/program) issue their operations in this order, and
// whoever proves something of a repeated program rests on the theorem below.
//
// # Words
//
// A stack is a part of a model that is there many times; its instances have numbers from 0. A run goes
// through the instances of a stack, up or down: instance n below is the n-th that the run comes to. In
// iteration t, operation i of the run is issued for instance t + ahead(i), where there is one, and the
// operations of an iteration are issued in the order of the text. A is the difference between the most and
// the least that operations of the run are ahead. A task is a piece of the program that is issued once,
// or once for each microbatch, and the table of ticks says in which order. A posted operation, a receive,
// is issued one tick of the table early ([Program.Posted]).
//
// An instance has a value in one of three kinds of places: the same place for all; place n mod R of a
// ring of R places; or, in a row, a place of its own, one step behind that of the instance before. Let P
// be a common multiple of all R. Values in rows meet only if those rows have one step ([Alike]), and
// two instances in such rows meet only if their numbers differ by at most E, the reach.
//
// # Theorem: few instances stand for all
//
// Let F = [Few](C, P, A, E) < C: so F = C modulo P, and F >= 2P + A + E + 4. Compare the run of C
// instances with that of F, of which the rows have F places.
//
// (1) Two iterations that follow one another in the run of C issue what two iterations of the run of F do, for
// instances whose numbers are a multiple of P less. The same holds with C and F exchanged.
//
// (2) For two instances n <= m of C there are two, n' <= m', of F with the same numbers modulo P; n' is
// the first if and only if n is, m' the last if and only if m is; and m'-n' = m-n, or both are more
// than A + E + 2. The same holds with C and F exchanged.
//
// Proof of (1). In the iterations at the beginning, and in those at the end, the same is issued whatever the
// number of instances is: at the end for instances C-F, a multiple of P, further on. In between, all
// operations are issued in each iteration, and iteration t+P issues them for instances P further on. F - An iterations
// are of this kind, at least P + 1: so each pair of them is there in each place modulo P.
//
// Proof of (2). Write x = n, d = m-n and y = C-1-m, so that x + d + y = C-1. We need x', d', y' with the
// sum F-1. Let D = A + E + 2. If d > D, take x' = 0 if x = 0 and else the least x' > 0 with x' = x
// modulo P, and y' in the same way: both are at most P. Then d' = F-1-x'-y' >= 2P + D + 1 - 2P > D, and
// it equals d modulo P, since F = C modulo P. If d <= D, take d' = d and both x' and y' as before: their
// sum is at most 2P + D < F, equal to F-1 modulo P. A multiple of P is missing, and is added to x' if x > 0
// or else to y': if both were 0, d would be C-1 > D. From F to C the same construction applies.
//
// What follows. Which of two operations of the run is issued first depends on the operations and on
// m-n, up to A; then on the sign of m-n alone. Whether their places meet depends on n and m modulo P, or on
// m-n up to E, or on nothing. Whether an operation waits for what is between them, if every iteration
// waits, depends on two iterations that follow one another. So a proof that looks at each two accesses, at
// whether one comes before the other, and whether they meet, holds for C instances if it holds for F. It
// may as well ask for the first and the last instance, where values enter and leave, and for the instance
// next to one: E has room for one more on each side.
//
// # Microbatches
//
// Nothing is under way between two ticks of the table but what is posted. A proof about a single tick
// holds for all ticks of its task if the places that meet move in one way from microbatch to
// microbatch ([Alike]): they then are as far from one another in each. Otherwise it has to be made for as
// many microbatches as the rings of the task have places in common.
//
// Imports nothing of this project.
package rolled
