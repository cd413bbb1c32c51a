package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"ptc/compiler"
	"ptc/foresight/forecast"
	"ptc/foresight/machine"
	"ptc/foresight/stack"
	"ptc/runtime/program"
)

func main() {
	f, err := os.Open(filepath.Join(os.Args[1], "megatron_sc21.csv"))
	if err != nil {
		panic(err)
	}
	rows, _ := csv.NewReader(f).ReadAll()
	m, err := machine.Named("a100_80")
	if err != nil {
		panic(err)
	}
	base, _ := os.ReadFile("bench/foresight/megatron_2021.ptl")
	st, err := stack.Named("megatron_2021")
	if err != nil {
		panic(err)
	}
	sum := 0.0
	for _, r := range rows[1:] {
		n := func(i int) int { v, _ := strconv.Atoi(r[i]); return v }
		heads, hidden, layers, tp, pp, gpus, gb, mb := n(2), n(3), n(4), n(5), n(6), n(8), n(9), n(10)
		dp := gpus / tp / pp
		src := string(base) + fmt.Sprintf("\nlayout l {\n  mesh dp = %d, pp = %d, tp = %d\n  shard batch over dp\n  shard heads, ffn, vocab over tp\n", dp, pp, tp)
		micro := gb / mb / dp
		if pp > 1 {
			sched := "schedule = 1f1b"
			if v := n(7); v > 0 && layers/pp/v > 1 {
				sched = fmt.Sprintf("schedule = interleaved  chunks = %d", layers/pp/v)
			}
			src += fmt.Sprintf("  pipeline blocks over pp { %s  microbatches = %d }\n", sched, micro)
		} else {
			src += fmt.Sprintf("  accumulate = %d\n", micro)
		}
		src += "  recompute Block\n  precision { compute = bf16  params = bf16  reduce = bf16 }\n}\n"
		t0 := time.Now()
		os.WriteFile("/tmp/t/sc"+r[0]+".ptl", []byte(src), 0o666)
		p, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(src), Layout: "l", Set: []string{"layers=" + r[4], "embed=" + r[3], "heads=" + r[2], "batch=" + r[9]}, Target: "ref", Forms: "cuda:sm_80", Stack: &compiler.Stack{Join: st.Join()}, Without: []string{"overlap"}})
		if err != nil {
			fmt.Println(r[0], err)
			continue
		}
		t1 := time.Now()
		c, err := m.Sized(gpus/8, 8)
		if err != nil {
			panic(err)
		}
		x, _, err := forecast.Of(p, c, forecast.Options{Stack: st})
		if err != nil {
			fmt.Println(r[0], err)
			continue
		}
		tf, _ := strconv.ParseFloat(r[11], 64)
		h, l := float64(hidden), float64(layers)
		want := 96 * float64(gb) * 2048 * l * h * h * (1 + 2048/(6*h) + 51200/(16*l*h)) / float64(gpus) / tf / 1e12
		fmt.Printf("%-7s pred %.2f want %.2f err %+.3f compile %v sim %v\n", r[0], x.StepS, want, x.StepS/want-1, t1.Sub(t0), time.Since(t1))
		for k, v := range x.Causes {
			if v > 0.02*x.StepS {
				fmt.Printf("   %s %.3f", k, v/x.StepS)
			}
		}
		fmt.Println()
		if len(os.Args) > 2 && os.Args[2] == r[0] {
			for _, w := range x.Where {
				fmt.Printf("     %.3f %s %s %s %s\n", w.Share, w.Cause, w.What, w.Source, w.Limit)
			}
			b, _ := program.EncodeValid(p)
			os.WriteFile("/tmp/t/sc.bin", b, 0o666)
			return
		}
		sum += max(x.StepS/want-1, 1-x.StepS/want)
		_, _, _, _ = heads, tp, pp, mb
	}
	fmt.Println("mean", sum/10)
}
