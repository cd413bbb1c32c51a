package exec

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptc/runtime/device/fake"
)

var mutants = flag.Bool("mutants", false, "TestMutants compiles the runtime with faults and runs its tests")

// faults are changes of this package's code that an engine whose memory is the
// host's, and whose launch has run when it returns, may forgive.
var faults = []struct{ name, file, old, new string }{
	{"a launch is not waited for", "device.go", "return d.failed(prog, p.Wait())", "return nil"},
	{"a run that ends early leaves things under way", "guard.go", "d.failed(prog, d.progs[prog].Stop(at))", "error(nil)"},
	{"numbers are looked at where they are under way", "nonfinite.go", "s.forget(i) // not there yet", "s.look(i, reads)"},
	{"tensors are read as bytes of the host", "part.go", "mem.Memory.CopyOut(buf, mem.Offset)", "hostBytes(mem, buf, true)"},
	{"tensors are written as bytes of the host", "part.go", "mem.Memory.CopyIn(mem.Offset, buf)", "hostBytes(mem, buf, false)"},
	{"gradients are read as bytes of the host", "device.go", "r.Memory.CopyOut(mem, r.Offset)", "hostBytes(r, mem, true)"},
	{"initial values are written as bytes of the host", "initial.go",
		"to.Memory.CopyIn(to.Offset+int64(j.from*j.part.elem), (*mem)[:n])",
		"hostBytes(to.Slice(int64(j.from*j.part.elem), int64(j.to*j.part.elem)), (*mem)[:n], false)"},
	{"gradients are read when all has run", "gradient.go", "d.step(prog, at, g.after); err != nil {\n\t\t\treturn err\n\t\t}\n\t\tat = g.after",
		"d.step(prog, at, max(at, len(d.prog.Progs[prog].Instrs))); err != nil {\n\t\t\treturn err\n\t\t}\n\t\tat = len(d.prog.Progs[prog].Instrs)"},
	{"gradients are read during the run", "gradient.go", "if err := d.step(prog, at, g.after); err != nil {", "if d.progs[prog].Launch(); g.after < 0 {\n\t\t\tvar err error"},
	{"a run begins in the middle", "guard.go", "return d.stepJoint(prog, g.at, all)", "return d.stepJoint(prog, g.at+1, all)"},
}

// hostBytesSource is what they need.
const hostBytesSource = `
func hostBytes(r device.Range, mem []byte, out bool) error {
	if b, _ := r.HostBytes(); out {
		copy(mem, b)
	} else {
		copy(b, mem)
	}
	return nil
}
`

// TestMutants: each of the faults fails a test on fake engines. It says which do on
// the host's. Without -mutants it looks whether the code that they change is there.
func TestMutants(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			overlay := overlayOf(t, f.file, f.old, f.new)
			if !*mutants {
				return
			}
			if run(t, overlay, "") {
				t.Log("the engine of the host forgives it")
			}
			if run(t, overlay, "0") && run(t, overlay, "1") {
				t.Error("fake engines forgive it")
			}
		})
	}
}

// overlayOf writes what -overlay of the go command reads.
func overlayOf(t *testing.T, file, old, with string) string {
	t.Helper()
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	put := func(name, text string) {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(here, name)] = at
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), old) != 1 {
		t.Fatalf("%s does not have %q once", file, old)
	}
	put(file, strings.Replace(string(text), old, with, 1))
	put("zz_fault.go", "package exec\n\nimport \"ptc/runtime/device\"\n"+hostBytesSource)
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	put("overlay.json", string(list))
	return filepath.Join(dir, "overlay.json")
}

// run says whether the tests of the runtime pass.
func run(t *testing.T, overlay, seed string) bool {
	t.Helper()
	c := exec.Command("go", "test", "-overlay", overlay, "-count=1", "-failfast", "-timeout", "90s", "-skip", "OnFake|Moments|NoAllocation|DoNotAllocate", ".", "../train")
	c.Env = append(os.Environ(), fake.Env+"="+seed)
	out, err := c.CombinedOutput()
	if strings.Contains(string(out), "build failed") {
		t.Fatalf("%s", out)
	}
	return err == nil
}
