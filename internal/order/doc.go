// Package order has lists of numbers that stand for other things, in an order.
//
// In: how many things there are, and how they compare. Out: their numbers.
// Invariant: the result depends on nothing else; equal things keep their order.
// Imports nothing of ours.
package order
