package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/internal/diag"
	"ptc/runtime/native"
	"ptc/runtime/program"
	"ptc/runtime/signature"
)

// trustFlags say how much of a plan a run believes: the code in it is run as
// native code, unless it is made anew from the plan's sources.
type trustFlags struct {
	rebuild, noNative bool
	keys              string // a file or folder of public keys; empty for those of trustVar
}

// trustVar is the variable of the environment that stands for --trust.
const trustVar = "PTC_TRUST"

func (f *trustFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.rebuild, "rebuild", false, "recompile the sources in the plan and run the result: no code of the plan is used")
	cmd.Flags().BoolVar(&f.noNative, "no-native", false, "like --rebuild for the target ref, an interpreter: no native code is run")
	cmd.Flags().StringVar(&f.keys, "trust", "", "accept only a plan with a signature PLAN.minisig by one of the public keys in `KEYS`,\na minisign key file or a folder of *.pub files (default $"+trustVar+", if set)")
}

// careful says whether a run believes less of a plan than all of it.
func (f *trustFlags) careful() bool {
	return f.rebuild || f.noNative || f.keys != "" || os.Getenv(trustVar) != ""
}

// signed reads a plan whose signature has been checked, where keys are given. What
// is checked is what is decoded: the file is read once.
func (f *trustFlags) signed(path string) (*program.Plan, error) {
	from := f.keys
	if from == "" {
		from = os.Getenv(trustVar)
	}
	if from == "" {
		return readPlan(path)
	}
	keys, err := signature.ReadKeys(from)
	if err != nil {
		return nil, fileError(err)
	}
	data, err := program.ReadBytes(path)
	if err != nil {
		return nil, fileError(err)
	}
	if err := keys.Check(path, data); err != nil {
		return nil, fileError(err)
	}
	plan, err := program.Decode(data)
	if err != nil {
		return nil, fileError(&program.FileError{Path: path, Err: err})
	}
	return plan, nil
}

// openPlan reads a plan and makes of it what the flags let run.
func openPlan(path string, f *trustFlags) (*program.Plan, error) {
	plan, err := f.signed(path)
	if err != nil || !f.rebuild && !f.noNative {
		return plan, err
	}
	return rebuilt(path, plan, f.target(plan))
}

// target is what the sources of a plan are compiled for: empty for the plan's own target.
func (f *trustFlags) target(plan *program.Plan) string {
	switch {
	case f.noNative && plan.Target == "ref:f64":
		return plan.Target
	case f.noNative:
		return "ref"
	case strings.HasPrefix(plan.Target, "cpu:") && native.Supported(plan.Features) != nil:
		return "cpu" // the plan's is of another machine
	}
	return ""
}

// rebuilt compiles the sources in a plan. A plan whose sources do not compile
// here cannot be used.
func rebuilt(path string, plan *program.Plan, target string) (*program.Plan, error) {
	again, r, err := compiler.Rebuild(plan, target)
	if err == nil {
		return again, nil
	}
	var bug *compiler.Bug
	if errors.As(err, &bug) {
		return nil, &fault{code: exitBug, err: err}
	}
	if _, ok := diag.As(err); !ok {
		err = fmt.Errorf("%s cannot be rebuilt for %s: %w", path, orTarget(target, plan), err)
	}
	return nil, &fault{code: exitFile, err: err, source: planSource(path, r)}
}

// planSource shows the sources in a plan: the names are those there, not of files here.
func planSource(path string, r *compiler.Report) sources {
	return func(file string) (string, string, bool) {
		text, ok := r.Source(file)
		return text, filepath.Base(path) + ":" + file, ok
	}
}

func orTarget(target string, plan *program.Plan) string {
	if target == "" {
		return plan.Target
	}
	return target
}
