package main

import (
	"bytes"
	"runtime"
	"runtime/pprof"
)

// profiles begins to measure this process for the files that are named, and gives what ends that and
// writes them.
func (a *app) profiles(cpu, memory string) (stop func() error, err error) {
	var samples bytes.Buffer
	if cpu != "" {
		if err := pprof.StartCPUProfile(&samples); err != nil {
			return nil, err
		}
	}
	return func() error {
		if cpu != "" {
			pprof.StopCPUProfile()
			if err := a.writeFile(cpu, samples.Bytes()); err != nil {
				return err
			}
		}
		if memory == "" {
			return nil
		}
		runtime.GC() // the profile is of what the last collection knows
		var all bytes.Buffer
		if err := pprof.Lookup("allocs").WriteTo(&all, 0); err != nil {
			return err
		}
		return a.writeFile(memory, all.Bytes())
	}, nil
}
