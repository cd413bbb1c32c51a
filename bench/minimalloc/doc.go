// Command minimalloc places the buffers of public problems of memory allocation
// with the planner of passes/memory/place, and prints a row for each file:
//
//	NAME PEAK CAPACITY SECONDS
//
//	MINIMALLOC_DIR=problems go run ./bench/minimalloc
//
// PEAK is what the plan needs and CAPACITY what there is, both in the unit of the
// sizes; SECONDS is the time on one core. Each plan is checked against every pair
// of buffers first. A problem is a file NAME.CAPACITY.csv in the folder
// MINIMALLOC_DIR, as in github.com/google/minimalloc: a line with the names of the
// columns id, lower, upper and size in any order, then one line for each buffer,
// which is in use at the times from lower to below upper. The exit status is 1
// where a file cannot be read.
package main
