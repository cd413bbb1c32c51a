package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"
)

func main() {
	base := flag.String("base", "", "the build to compare with")
	next := flag.String("next", "", "the build to judge")
	root := flag.String("root", ".", "the folder of the module, for the corpus")
	dir := flag.String("out", "", "keep the plans and dumps that differ in this folder")
	known := flag.String("known", "", "keep what the base made of each case in this file, and do not ask it again")
	full := flag.Bool("full", false, "compile every recipe, and each layout with every model")
	only := flag.String("only", "", "compile the cases with this in their name")
	words := flag.String("words", "", "words of the base that are others now, as old=new,...")
	except := flag.String("except", "", "parts of plans that are not compared, fields of program.Plan such as Remarks,Sources")
	flag.Parse()
	if *base == "" || *next == "" || *dir == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: replay -base PTC -next PTC -out DIR [-known FILE] [-root DIR] [-full] [-only TEXT] [-words OLD=NEW,...] [-except PARTS]")
		os.Exit(2)
	}
	cases, err := corpus(*root, *full)
	fail(err)
	allowed, err := parseRenaming(*words, *except)
	fail(err)
	if !allowed.strict() {
		*known = "" // digests there are of other bytes
	}
	before, err := read(*known)
	fail(err)
	differ, err := replay(builds{*base, *next, *dir, before, allowed}, cases, *only)
	fail(err)
	fail(before.write())
	if differ > 0 {
		os.Exit(1)
	}
}

// fail ends the process if err is an error.
func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(3)
	}
}

// replay compares all cases, prints those that differ in their order, and is their number.
func replay(b builds, cases []entry, only string) (differ int, err error) {
	outcomes := make([]outcome, len(cases))
	ran := 0
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, e := range cases {
		if !strings.Contains(e.name, only) {
			continue
		}
		ran++
		group.Go(func() (err error) {
			outcomes[i], err = b.compare(i, e)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	rejected := 0
	for i, r := range outcomes {
		if r.rejected != "" {
			rejected++
			fmt.Printf("both reject %s: %s\n", cases[i].name, r.rejected)
		}
		if r.differs != "" {
			differ++
			fmt.Printf("DIFFERS %s (%d)\n%s", cases[i].name, i, r.differs)
		}
	}
	fmt.Printf("%d plans are the same, %d differ; both builds reject %d with the same message\n", ran-differ-rejected, differ, rejected)
	return differ, nil
}
