// Command published compares layouts that people tuned by hand and published with those that a search finds for the same model,
// devices, batch and precision.
//
// In: the recipes of bench/recipes that are for machines which ptc describes. Out: bench/search/published.json, and the table of
// docs/search.md.
//
//	main.go     the rows, one after the other
//	row.go      a recipe with its machine: its source, with the published layout and an auto layout
//	compare.go  the search, and both layouts compiled in full and simulated
//	write.go    the results
//
// Invariant: the published layout is in the space of the search, or the row says in which dimension it is not; so the winner
// is never slower than a published layout that fits.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

func main() {
	debug.SetGCPercent(400) // plans are many and short-lived
	var o options
	flag.StringVar(&o.only, "only", "", "the row of this name, or if there is none those with this in their name; results of others stay as they are")
	flag.Float64Var(&o.most, "most", 300, "end a search after so many seconds of processor time")
	flag.BoolVar(&o.write, "write", true, "write bench/search/published.json and the table of docs/search.md")
	flag.Parse()
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "published:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	only  string
	most  float64 // CPU seconds of a search
	write bool
}

// run compares each row. The error names the rows that fail: whose winner is slower, or that end in an error.
func run(o *options) error {
	const results, page = "bench/search/published.json", "docs/search.md"
	before, err := read(results)
	if err != nil {
		return err
	}
	exact := slices.ContainsFunc(rows(), func(r row) bool { return r.Name == o.only })
	var all []result
	var failed []string
	for _, r := range rows() {
		if r.Name != o.only && (exact || !strings.Contains(r.Name, o.only)) {
			if old, ok := before[r.Name]; ok {
				all = append(all, old)
			}
			continue
		}
		x, err := r.compare(o.most)
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", r.Name, err))
			fmt.Printf("%s: %v\n", r.Name, err)
			continue
		}
		fmt.Println(x)
		if x.Ratio > 1 {
			failed = append(failed, r.Name+": the winner is slower than the published layout")
		}
		all = append(all, *x)
		if o.write { // what is done stays if the next row is interrupted

			if err := write(all, before, results, page); err != nil {
				return err
			}
		}
	}
	if o.write {
		if err := write(all, before, results, page); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d rows fail:\n%s", len(failed), strings.Join(failed, "\n"))
	}
	return nil
}
