// Package targetinfo holds the facts of a machine that passes and code generators share.
//
// In: nothing. Out: [Info], one record that a backend fills for each of its targets.
// Invariant: facts are data. What a target decides about one kernel (whether it fits, into how many parts its
// sum is split) is asked of the backend.
// Imports nothing.
package targetinfo
