package main

import (
	"os"
	"path/filepath"
)

// output is a file that a run writes, with the flag that names it.
type output struct {
	flag, path string
	params     bool // a file of parameters, which may replace the one that they came from
}

// outputs are the files that the flags of a run name, in the order of its help.
func (f *runFlags) outputs() (files []output) {
	o := &f.opts
	for _, x := range []output{
		{"--save", o.Save, true},
		{"--save-average", o.SaveAverage, true},
		{"--dump-grads", o.DumpGrads, false},
		{"--dump-batches", o.DumpBatches, false},
		{"--trace", o.Trace, false},
		{"--profile", f.profile.file, false},
	} {
		if x.path != "" {
			files = append(files, x)
		}
	}
	for _, s := range f.log.sinks {
		if s.kind.Target == "FILE" {
			files = append(files, output{"--log " + s.kind.Name, s.target, false})
		}
	}
	return files
}

// keepsFiles reports an output of a run that is the plan, or the file of --init where it is no file of parameters
// itself, and two outputs that are one file: one of the two would be lost, and nothing would say so.
func (f *runFlags) keepsFiles(plan string) error {
	files := f.outputs()
	for i, x := range files {
		inputs := []string{plan}
		if !x.params {
			inputs = append(inputs, f.opts.Init)
		}
		if err := keepsInputs(x.path, inputs...); err != nil {
			return err
		}
		for _, y := range files[:i] {
			if sameFile(x.path, y.path) {
				return usagef("%s and %s both write %s, so one would be lost", y.flag, x.flag, x.path)
			}
		}
	}
	return nil
}

// sameFile reports whether two paths are one file, which need not be there yet. What is there and no regular file,
// such as /dev/null, takes from several.
func sameFile(a, b string) bool {
	to, err := os.Stat(a)
	if err == nil {
		from, err := os.Stat(b)
		return err == nil && to.Mode().IsRegular() && os.SameFile(to, from)
	}
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return errX == nil && errY == nil && x == y
}
