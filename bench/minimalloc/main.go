package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"ptc/passes/memory/place"
)

// work is that of a compiler that is asked to try hard: sixteen times the default.
const work = 16 * place.Effort

func main() {
	runtime.GOMAXPROCS(1)
	if err := run(os.Getenv("MINIMALLOC_DIR")); err != nil {
		fmt.Fprintln(os.Stderr, "minimalloc:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	if dir == "" {
		return fmt.Errorf("MINIMALLOC_DIR is not set; want the folder with the problems, NAME.CAPACITY.csv")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.csv"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s has no *.csv", dir)
	}
	for _, file := range files {
		p, err := read(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		start := time.Now()
		plan := place.Place(p.buffers, place.Options{Goal: p.capacity, Work: work})
		took := time.Since(start)
		if err := place.Check(p.buffers, plan.Offsets); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Printf("%s %d %d %.3f\n", p.name, plan.Height, p.capacity, took.Seconds())
	}
	return nil
}
