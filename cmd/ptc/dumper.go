package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// dumper writes and prints the IR as it changes. The compiler takes a hook's
// error for a fault of its own, so that the first one is kept here.
type dumper struct {
	app        *app
	dir        string
	printAfter []string
	// printBefore are passes before which the IR is printed; those in without do not run.
	printBefore, without []string
	err                  error
}

func (d *dumper) wanted() bool { return d.dir != "" || len(d.printAfter) > 0 || len(d.printBefore) > 0 }

func (d *dumper) hook(index int, name string, text func() string, _ time.Duration) error {
	if d.dir != "" {
		d.err = d.dump(fmt.Sprintf("%02d-%s.ptir", index, name), text())
	}
	if d.err == nil && (slices.Contains(d.printAfter, name) || slices.Contains(d.printAfter, "all")) {
		d.err = d.print(fmt.Sprintf("%02d-%s", index, name), text)
	}
	if next := d.next(index); d.err == nil && next != "" && slices.Contains(d.printBefore, next) {
		d.err = d.print("before "+next, text)
	}
	return d.err
}

// next is the pass that runs behind the one of that index, from 1.
func (d *dumper) next(index int) string {
	for _, name := range passNames()[index:] {
		if !slices.Contains(d.without, name) {
			return name
		}
	}
	return ""
}

// print writes the IR, under a title where there may be others.
func (d *dumper) print(title string, text func() string) error {
	head := ""
	if len(d.printAfter)+len(d.printBefore) > 1 || slices.Contains(d.printAfter, "all") {
		head = "// ---- " + title + "\n"
	}
	return d.app.print(head + text())
}

func (d *dumper) dump(name, text string) error {
	if err := os.MkdirAll(d.dir, 0o777); err != nil {
		return fileError(wrapWrite(d.dir, err))
	}
	return d.app.writeFile(filepath.Join(d.dir, name), []byte(text))
}
