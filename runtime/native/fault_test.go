//go:build linux && (amd64 || arm64)

package native

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// faulty is code that raises a signal, by processor, with what is said of it.
var faulty = map[string]struct {
	amd64, arm64 []byte
	want         string
}{
	"store": {[]byte{0x31, 0xc0, 0x89, 0x40, 0x18, 0xc3}, words(0xd2800000, 0xb9001800, 0xd65f03c0),
		"segmentation fault at address 0x18, at instruction ptc_replay+0x"},
	"illegal":  {[]byte{0x90, 0x0f, 0x0b}, words(0xd503201f, 0), "illegal instruction, at instruction ptc_replay+0x"},
	"no code":  {[]byte{0xb8, 0x10, 0, 0, 0, 0xff, 0xe0}, words(0xd2800200, 0xd61f0000), "segmentation fault at address 0x10, at an instruction outside of the code, 0x10"},
	"no stack": {[]byte{0x31, 0xe4, 0x50}, words(0x9100001f|0x3e0, 0xf81f0fe0|0x1f<<5, 0xd2800000, 0xb9000000), ""},
	"division": {[]byte{0x31, 0xc9, 0xf7, 0xf1}, nil, "floating point exception, at instruction ptc_replay+0x2"},
}

// again is this test as another process: by the command that PTC_TEST_EXEC has, where it
// is run by an emulator (bench/arm).
func again(args ...string) *exec.Cmd {
	words := append(strings.Fields(os.Getenv("PTC_TEST_EXEC")), os.Args[0])
	return exec.Command(words[0], append(words[1:], args...)...)
}

const faultVariable = "PTC_TEST_FAULT"

// TestFaults: code that faults ends the process with what can be reported, and
// without a dump of goroutines, whichever thread it is on.
func TestFaults(t *testing.T) {
	for name, c := range faulty {
		if runtime.GOARCH == "arm64" && (c.arm64 == nil || c.want == "") {
			continue // what faults on the one need not on the other
		}
		for _, threads := range []string{"1", "3"} {
			for _, said := range []string{"hook", "default"} {
				cmd := again("-test.run=^TestFaultHelper$")
				cmd.Env = append(os.Environ(), faultVariable+"="+name+"/"+threads+"/"+said)
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != faultCode {
					t.Errorf("%s, %s threads: ended with %v:\n%s", name, threads, err, out)
				}
				if text := string(out); !strings.Contains(text, said+": ") && said == "hook" || !strings.Contains(text, c.want) || strings.Contains(text, "goroutine ") {
					t.Errorf("%s, %s threads: said %q, expected %q", name, threads, text, c.want)
				}
			}
		}
	}
	// A fault of Go's own is the runtime's, before and after native code has run.
	cmd := again("-test.run=^TestFaultHelper$")
	cmd.Env = append(os.Environ(), faultVariable+"=go/2/hook")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "recovered: runtime error: invalid memory address") {
		t.Errorf("a fault of Go: %v\n%s", err, out)
	}
}

// TestFaultHelper is the process that faults.
func TestFaultHelper(t *testing.T) {
	spec := os.Getenv(faultVariable)
	if spec == "" {
		t.Skip("it is run by TestFaults, in a process of its own")
	}
	part := strings.Split(spec, "/")
	code := faulty[part[0]].amd64
	if runtime.GOARCH == "arm64" {
		code = faulty[part[0]].arm64
	}
	if part[0] == "go" {
		p, _ := counting(t, 8, 2, 0)
		if err := newTeam(t, 2).Replay(p, 0, p.Len()); err != nil {
			t.Fatal(err)
		}
		defer func() { fmt.Println("recovered:", recover()) }()
		var none *int
		*none = 1
	}
	img, err := Load(buildObject(hostMachine(), []testSection{{name: ".text", typ: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, align: 16, data: code}},
		[]testSymbol{{replaySymbol, globalFunc, 1, 0}}))
	if err != nil {
		t.Fatal(err)
	}
	threads := int(part[1][0] - '0')
	p, err := NewProgram(img, []Instr{{Kernel: replaySymbol, Tasks: 1}}, threads, 8)
	if err != nil {
		t.Fatal(err)
	}
	team := newTeam(t, threads)
	if part[2] == "hook" {
		team.OnFault(func(f Fault) { fmt.Printf("hook: %v\n", f) })
	}
	_ = team.Replay(p, 0, 1)
	t.Error("the code did not fault")
}
