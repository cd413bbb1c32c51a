package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"ptc/foresight/search"
)

// watched reports whether somebody looks at the standard error, so that commands show how far they are.
func (a *app) watched() bool {
	f, ok := a.err.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// eachSecond is a function that is true at most once a second, and not in the first one.
func eachSecond() func() bool {
	last := time.Now()
	return func() bool {
		now := time.Now()
		if now.Sub(last) <= time.Second {
			return false
		}
		last = now
		return true
	}
}

// searching shows how far a search is, on a terminal; nil elsewhere.
func (a *app) searching() func(search.Progress) {
	if !a.watched() {
		return nil
	}
	due := eachSecond()
	return func(p search.Progress) {
		if due() {
			best := "no layout yet"
			if p.Best > 0 {
				best = fmt.Sprintf("best %.4g s, gap %.2g%%", p.Best.Seconds(), 100*float64(p.Best-p.Least)/float64(p.Best))
			}
			fmt.Fprintf(a.err, "%d probes, %d parts of the space open, %s\n", p.Probes, p.Open, best)
		}
	}
}

// verifying shows how far a verification is, on a terminal; nil elsewhere.
func (a *app) verifying() func(done, all int) {
	if !a.watched() {
		return nil
	}
	return progressOf(a.err, eachSecond())
}

// progressOf writes how many of all layouts have been compiled, when it is due.
func progressOf(w io.Writer, due func() bool) func(done, all int) {
	return func(done, all int) {
		if due() {
			fmt.Fprintf(w, "%d of %d layouts compiled\n", done, all)
		}
	}
}
