package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"ptc/foresight/machine"
	"ptc/foresight/stack"
)

func main() {
	debug.SetGCPercent(400) // plans are many and short-lived
	debug.SetMemoryLimit(2 << 30)
	if err := validate(); err != nil {
		fmt.Fprintln(os.Stderr, "foresight:", err)
		os.Exit(1)
	}
}

// validate predicts all tables, and writes what came of it.
func validate() error {
	folder := os.Getenv("FORESIGHT_DATA")
	if folder == "" {
		return errors.New("FORESIGHT_DATA does not name a folder; set it to the one with megatron_sc21.csv, vtrain_single.csv and nccl_allreduce_a100_{2,4,8}.csv (docs/foresight.md says where they are from)")
	}
	m, err := machine.Named("a100_80")
	if err != nil {
		return err
	}
	s, err := stack.Named("megatron_2021")
	if err != nil {
		return err
	}
	r := &report{}
	if r.NCCL, err = validateReductions(folder, m); err != nil {
		return err
	}
	if r.Single, err = validateSingle(folder, r.NCCL.machine, s); err != nil {
		return err
	}
	if r.SC21, err = validateSC21(folder, m, r.Single.stack); err != nil {
		return err
	}
	if err := r.plots("docs/images"); err != nil {
		return err
	}
	return r.write("bench/foresight.json", "docs/foresight.md")
}
