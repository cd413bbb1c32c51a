package main

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"ptc/backend/gpu/emu"
	"ptc/internal/dtype"
)

// kernel is an entry of index.json, as kernels.py writes it.
type kernel struct {
	Name    string   `json:"name"`
	Grid    int      `json:"grid"`
	Shared  int      `json:"shared"` // bytes of dynamic shared memory
	Alike   bool     `json:"alike"`  // races are not looked for: several threads store the same, or parts of a word
	Buffers []string `json:"buffers"`
	Args    []struct {
		U32    *uint32    `json:"u32"`
		U64    *uint64    `json:"u64"`
		Buffer *int       `json:"buffer"`
		Map    *tensorMap `json:"map"`
	} `json:"args"`
	Results []result `json:"results"`
}

// tensorMap is a map over a buffer; dimensions as the compiler has them, the one whose elements lie next to each
// other last.
type tensorMap struct {
	Buffer  int      `json:"buffer"`
	Type    uint32   `json:"type"`
	Sizes   []uint64 `json:"sizes"`
	Strides []uint64 `json:"strides"` // bytes
	Box     []uint32 `json:"box"`
	Swizzle uint32   `json:"swizzle"`
}

type result struct {
	Buffer    int     `json:"buffer"`
	Type      string  `json:"type"`
	Tolerance float64 `json:"tolerance"` // of the largest value that is expected
	Expected  string  `json:"expected"`  // float64
}

func main() {
	only := flag.String("only", "", "run only kernels whose names match this regular expression")
	flag.Parse()
	wanted, err := regexp.Compile(*only)
	if err == nil && flag.NArg() != 1 {
		err = fmt.Errorf("expected the folder that kernels.py wrote")
	}
	if err == nil {
		err = run(flag.Arg(0), wanted)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "triton:", err)
		os.Exit(1)
	}
}

// ways are those in which time passes.
var ways = []emu.Options{{Steps: 1 << 24}, {Steps: 1 << 24, Late: true}, {Steps: 1 << 24, Seed: 1}, {Steps: 1 << 24, Seed: 2}}

func run(folder string, only *regexp.Regexp) error {
	text, err := os.ReadFile(filepath.Join(folder, "index.json"))
	if err != nil {
		return err
	}
	var kernels []kernel
	if err := json.Unmarshal(text, &kernels); err != nil {
		return err
	}
	wrong, ran := 0, 0
	for _, k := range kernels {
		if !only.MatchString(k.Name) {
			continue
		}
		ran++
		worst, err := k.run(folder)
		if err != nil {
			wrong++
			fmt.Printf("%-40s %s\n", k.Name, strings.TrimSpace(err.Error()))
			continue
		}
		fmt.Printf("%-40s %.1g\n", k.Name, worst)
	}
	if wrong > 0 || ran == 0 {
		return fmt.Errorf("%d of %d kernels are wrong", wrong, ran)
	}
	return nil
}

// run launches k in all ways; the largest error is relative to the largest value that is expected.
func (k *kernel) run(folder string) (float64, error) {
	text, err := os.ReadFile(filepath.Join(folder, k.Name+".ptx"))
	if err != nil {
		return 0, err
	}
	m, err := dialect(string(text))
	if err != nil {
		return 0, err
	}
	p, err := emu.Load(m.Entries[0])
	if err != nil {
		return 0, err
	}
	worst := 0.0
	for _, o := range ways {
		o.Check = !k.Alike
		d := &emu.Device{Options: o}
		buffers, args, err := k.arguments(d, folder)
		if err != nil {
			return 0, err
		}
		if err := d.Run(p, emu.Launch{Grid: k.Grid, Shared: k.Shared, Args: args}); err != nil {
			return 0, fmt.Errorf("late %v, seed %d: %w", o.Late, o.Seed, err)
		}
		for _, r := range k.Results {
			e, err := r.compare(folder, buffers[r.Buffer])
			if err != nil {
				return 0, fmt.Errorf("late %v, seed %d: %w", o.Late, o.Seed, err)
			}
			worst = max(worst, e)
		}
	}
	return worst, nil
}

// arguments puts the buffers into the memory of a device.
func (k *kernel) arguments(d *emu.Device, folder string) ([][]byte, []emu.Arg, error) {
	var buffers [][]byte
	var at []uint64
	for _, name := range k.Buffers {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, nil, err
		}
		buffers, at = append(buffers, data), append(at, d.Map(data))
	}
	var args []emu.Arg
	for _, a := range k.Args {
		switch {
		case a.U32 != nil:
			args = append(args, emu.Arg{Bytes: binary.LittleEndian.AppendUint32(nil, *a.U32)})
		case a.U64 != nil:
			args = append(args, emu.Word(*a.U64))
		case a.Buffer != nil:
			args = append(args, emu.Word(at[*a.Buffer]))
		default:
			b, err := a.Map.encode(at[a.Map.Buffer])
			if err != nil {
				return nil, nil, err
			}
			args = append(args, emu.Arg{Bytes: b})
		}
	}
	return buffers, args, nil
}

func (t *tensorMap) encode(address uint64) ([]byte, error) {
	m := emu.TensorMap{Type: emu.TensorType(t.Type), Rank: len(t.Sizes), Address: address, Swizzle: emu.Swizzle(t.Swizzle)}
	for i := range t.Sizes {
		back := len(t.Sizes) - 1 - i
		m.Sizes[i], m.Box[i], m.Steps[i] = t.Sizes[back], t.Box[back], 1
		if i > 0 {
			m.Strides[i-1] = t.Strides[back]
		}
	}
	return m.Encode()
}

// compare is the largest error of a result; an error if it is more than the tolerance.
func (r *result) compare(folder string, got []byte) (float64, error) {
	text, err := os.ReadFile(filepath.Join(folder, r.Expected))
	if err != nil {
		return 0, err
	}
	size, most, worst, place := len(got)*8/len(text), 0.0, 0.0, -1
	for i := range len(text) / 8 {
		want := math.Float64frombits(binary.LittleEndian.Uint64(text[8*i:]))
		most = max(most, math.Abs(want))
		if e := math.Abs(value(r.Type, got[size*i:]) - want); !(e <= worst) {
			worst, place = e, i
		}
	}
	if worst /= most; !(worst <= r.Tolerance) {
		return worst, fmt.Errorf("element %d of %d is off by %.2g of the largest one; at most %.2g", place, len(text)/8, worst, r.Tolerance)
	}
	return worst, nil
}

// value is the first element of b.
func value(kind string, b []byte) float64 {
	switch kind {
	case "fp32":
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case "bf16":
		return float64(dtype.FromBF16(binary.LittleEndian.Uint16(b)))
	}
	return float64(dtype.FromF16(binary.LittleEndian.Uint16(b)))
}
