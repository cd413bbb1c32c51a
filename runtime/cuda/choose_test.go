package cuda

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// vary gives the toy a variant for another target: all kernels in one module, with names of its own.
func (t *toy) vary(target string) *program.Variant {
	v := program.Variant{Arch: target, Code: []program.Code{{Kind: Kind}}}
	name := func(k string) string { return k + "_" + target }
	for i := range t.Code {
		data := bytes.ReplaceAll(t.Code[i].Data, []byte("sm_90a"), []byte(target))
		if i > 0 {
			data = data[bytes.Index(data, []byte("64\n"))+3:] // no second head
		}
		v.Code[0].Data = append(v.Code[0].Data, data...)
	}
	for _, k := range t.Kernels {
		v.Code[0].Data = bytes.ReplaceAll(v.Code[0].Data, []byte(k.Symbol), []byte(name(k.Symbol)))
		v.Kernels = append(v.Kernels, program.Kernel{Symbol: name(k.Symbol), Tasks: k.Tasks, Threads: k.Threads, Shared: k.Shared})
	}
	t.Variants = append(t.Variants, v)
	return &t.Variants[len(t.Variants)-1]
}

// TestVariants: each GPU runs the best code of the plan that it can, and what it computes is the same.
func TestVariants(t *testing.T) {
	for _, c := range []struct {
		major, minor int
		variants     []string
		want         string // what the entries' names end in
		err          string
	}{
		{8, 0, []string{"sm_80"}, "_sm_80", ""},
		{8, 6, []string{"sm_80"}, "_sm_80", ""},
		{9, 0, []string{"sm_80"}, "", ""},
		{10, 0, []string{"sm_80"}, "_sm_80", ""},
		{8, 9, []string{"sm_80", "sm_89"}, "_sm_89", ""},
		{8, 9, []string{"sm_89", "sm_80"}, "_sm_89", ""},
		{8, 6, []string{"sm_80", "sm_89"}, "_sm_80", ""},
		{9, 0, []string{"sm_90"}, "", ""},
		{12, 0, []string{"sm_80", "sm_89"}, "_sm_89", ""},
		{7, 5, []string{"sm_80"}, "", "the plan is for GPUs of sm_90a (compute capability 9.0 alone) or sm_80 (compute capability 8.0 or later), and this one, Fake GPU 0, is of 7.5"},
		{10, 0, nil, "", "sm_90a (compute capability 9.0 alone), and this one, Fake GPU 0, is of 10.0"},
	} {
		toy := newToy()
		a, b := toy.buffer("", "i32", elems), toy.buffer("", "i32", elems)
		toy.kernel(stir, a, b)
		toy.kernel(mix, a, b, a)
		for _, v := range c.variants {
			toy.vary(v)
		}
		if err := toy.Validate(); err != nil {
			t.Fatal(err)
		}
		drv := onFake(t, fakecuda.Options{Major: c.major, Minor: c.minor})
		fit := fits(toy.Plan, []*program.Device{toy.d})
		e, p, err := toy.opened(device.Request{})
		if c.err != "" {
			if err == nil || fit == nil || !strings.Contains(err.Error(), c.err) || fit.Error() != err.Error() {
				t.Errorf("%d.%d: found %v and %v; expected %q", c.major, c.minor, fit, err, c.err)
			}
			continue
		}
		if fit != nil || err != nil {
			t.Fatalf("%d.%d: %v, %v", c.major, c.minor, fit, err)
		}
		s := toy.fresh(rand.New(rand.NewPCG(1, 1)))
		if err := toy.write(e, s); err != nil {
			t.Fatal(err)
		}
		p.Launch()
		toy.run(s, nil)
		if err := errors.Join(p.Wait(), toy.compare(e, s)); err != nil {
			t.Errorf("%d.%d: %v", c.major, c.minor, err)
		}
		if got := drv.Order(); !slices.Equal(got, []string{"stir" + c.want, "mix" + c.want}) {
			t.Errorf("%d.%d with %q: ran %q", c.major, c.minor, c.variants, got)
		}
		e.Close()
		clean(t, drv)
	}
}

// TestMixed: devices of a plan run the same code, or none.
func TestMixed(t *testing.T) {
	toy := simple()
	toy.vary("sm_80")
	onFake(t, fakecuda.Options{GPUs: 2, Mixed: true})
	want := "Fake GPU 0 that for sm_90a, and Fake GPU 1 that for sm_80; let ptc see GPUs of one kind alone"
	if err := fits(toy.Plan, []*program.Device{toy.d, toy.d}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("found %v; expected %q", err, want)
	}
	if err := fits(toy.Plan, []*program.Device{toy.d}); err != nil {
		t.Error(err)
	}
}

// TestNoRoom: code whose blocks a GPU has no room for is left for other code, if there is any.
func TestNoRoom(t *testing.T) {
	for _, c := range []struct {
		minor  int
		shared [2]int64 // of a kernel's code for sm_80 and sm_86
		want   string
	}{
		{6, [2]int64{90 << 10, 99 << 10}, "sm_86"},
		{6, [2]int64{90 << 10, 100 << 10}, "sm_80"},
		{0, [2]int64{163 << 10, 0}, "sm_80"},
		{6, [2]int64{101 << 10, 100 << 10}, "a block of kernel next.0, of the code for sm_80, needs 101 KiB of shared memory, and one of Fake GPU 0 has at most 99.0 KiB"},
	} {
		toy := simple()
		for i, name := range []string{"sm_80", "sm_86"} {
			toy.vary(name).Kernels[next].Shared = c.shared[i]
		}
		onFake(t, fakecuda.Options{Major: 8, Minor: c.minor})
		fit := fits(toy.Plan, []*program.Device{toy.d})
		e, _, err := toy.opened(device.Request{})
		if err != nil {
			if fit == nil || fit.Error() != err.Error() || err.Error() != c.want {
				t.Errorf("8.%d, %d: %v and %v", c.minor, c.shared, fit, err)
			}
			continue
		}
		if got := e.(device.Described).On().Code; got != c.want || fit != nil {
			t.Errorf("8.%d, %d: runs %s; %v", c.minor, c.shared, got, fit)
		}
		e.Close()
	}
}

// TestWrongVariants: text of variants is not believed either.
func TestWrongVariants(t *testing.T) {
	for _, c := range []struct {
		name   string
		o      fakecuda.Options
		change func(*program.Variant)
		want   string
	}{
		{"zero", fakecuda.Options{}, func(v *program.Variant) { v.Code[0].Data[50] = 0 }, "variant sm_80: module 0 of the plan cannot be run: byte 50"},
		{"target", fakecuda.Options{}, func(v *program.Variant) {
			v.Code[0].Data = bytes.Replace(v.Code[0].Data, []byte(".target sm_80"), []byte(".target gfx"), 1)
		}, `variant sm_80: the plan is for "gfx"`},
		{"two targets", fakecuda.Options{Major: 8}, func(v *program.Variant) {
			v.Code = append(v.Code, program.Code{Kind: Kind, Data: bytes.ReplaceAll(v.Code[0].Data, []byte("sm_80"), []byte("sm_86"))})
			v.Kernels[mix].Code = 1
		}, "variant sm_80: its modules are for both sm_80 and sm_86"},
		{"no entry", fakecuda.Options{Major: 8}, func(v *program.Variant) { v.Kernels[next].Symbol = "gone" }, "kernel next.0 (entry gone) cannot be run: module 0 has no such entry"},
		{"arguments", fakecuda.Options{Major: 8}, func(v *program.Variant) { v.Kernels[mix].Symbol = "wild_sm_80" }, "the entry has 2 parameters, and the kernel 3"},
		{"old driver", fakecuda.Options{Major: 8, Version: 12020}, func(*program.Variant) {}, "PTX 8.3, which drivers of CUDA 12.3"},
	} {
		toy := simple()
		c.change(toy.vary("sm_80"))
		drv := onFake(t, c.o)
		if _, _, err := toy.opened(device.Request{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: found %v; expected %q", c.name, err, c.want)
		}
		clean(t, drv)
	}
}

// TestNewerCode: code in a language that the driver does not know is left for older code.
func TestNewerCode(t *testing.T) {
	toy := simple()
	toy.vary("sm_80")
	for i := range toy.Code {
		toy.Code[i].Data = bytes.Replace(toy.Code[i].Data, []byte(".version 8.3"), []byte(".version 8.6"), 1)
	}
	c, err := choose(toy.Plan, toy.d, gpu{major: 9, shared: 99 << 10}, 12040)
	if err != nil || c.target != "sm_80" {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = choose(toy.Plan, toy.d, gpu{major: 9, shared: 99 << 10}, 12070); err != nil || c.target != "sm_90a" {
		t.Errorf("%+v, %v", c, err)
	}
}
