// Command run runs random cases and prints those that are not what one device
// computes, made as small as they still fail. It exits with 1 if there are any.
//
//	go run ./bench/random/run [-n 2000] [-from 1] [-target ref:f64]
//	go run ./bench/random/run -from 17 -n 1 -print
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"

	"ptc/bench/matrix"
	"ptc/bench/random"
)

func main() {
	n := flag.Int("n", 2000, "number of cases")
	from := flag.Uint64("from", 1, "first seed")
	target := flag.String("target", "ref:f64", "cpu or ref:f64")
	workers := flag.Int("workers", 2, "cases at a time")
	text := flag.Bool("print", false, "print the program of every case")
	whole := flag.Bool("whole", false, "print failures as they are, not made smaller")
	refused := flag.Bool("refused", false, "print why layouts are refused")
	flag.Parse()
	i := slices.IndexFunc(matrix.Targets, func(x matrix.Target) bool { return x.Name == *target })
	if i < 0 || *n < 1 {
		fmt.Fprintln(os.Stderr, "usage: run [-n CASES] [-from SEED] [-target cpu|ref:f64]")
		os.Exit(2)
	}
	t := matrix.Targets[i]
	var wait sync.WaitGroup
	var lock sync.Mutex
	seeds := make(chan uint64)
	failed, no := 0, 0
	for range max(1, *workers) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for seed := range seeds {
				c := random.New(seed)
				if t.Name == "cpu" {
					c = c.Smooth()
				}
				r := c.Run(t)
				small := c
				if !r.OK() && r.Refused == "" && !*whole {
					small = c.Minimize(t)
				}
				lock.Lock()
				if *text {
					fmt.Printf("%s\n%s\n", c.Source(), r)
				}
				switch {
				case r.Refused != "":
					no++
					if *refused {
						fmt.Printf("seed %d refused: %s\n", seed, r.Refused)
					}
				case !r.OK():
					failed++
					fmt.Printf("seed %d, %d devices: %s\n%s\n%s\n%s\n", seed, c.Devices(), r.Result, small.Source(), small.Run(t).Result, small.Blame())
				}
				lock.Unlock()
			}
		}()
	}
	for k := range *n {
		seeds <- *from + uint64(k)
	}
	close(seeds)
	wait.Wait()
	fmt.Printf("%d cases, %d refused, %d failed\n", *n, no, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
