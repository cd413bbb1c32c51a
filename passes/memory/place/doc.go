// Package place gives buffers with known lifetimes offsets in one arena: dynamic
// storage allocation, when everything is known beforehand.
//
// In: the size of each buffer and the times during which it is in use. Out: an
// offset for each, and the height that they reach.
// Invariant: buffers that are in use at the same time do not overlap; each offset
// is 0 or a sum of sizes, which keeps an alignment that all sizes have; the height is
// never above that of first-fit; the same input gives the same plan, with work
// that is counted and limited.
// Imports nothing of ptc.
package place
