package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"ptc/runtime/explain"
)

// TestOffload: what is offloaded makes no difference to the bit, in memory of the
// host, on disk and across a checkpoint; the plan says what is where; and it is
// the same when it is compiled again.
func TestOffload(t *testing.T) {
	small := gpt(t)
	same := func(a, b string) {
		t.Helper()
		x, err := os.ReadFile(a)
		if err != nil {
			t.Fatal(err)
		}
		if y, err := os.ReadFile(b); err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s and %s differ (%v)", a, b, err)
		}
	}
	for _, target := range []string{"", "ref"} {
		zero1, moved := compiled(t, small, "zero1", target), compiled(t, small, "offload", target)
		must(t, "run", zero1, "--steps", "4", "--save", "straight", "--checkpoint", "ck", "--every", "2")
		must(t, "run", moved, "--steps", "4", "--save", "moved", "--offload-dir", ".", "--checkpoint", "ck2", "--every", "2")
		same("straight", "moved")
		// On from either's checkpoint under the other.
		for from, plan := range map[string]string{"ck": moved, "ck2": zero1} {
			must(t, "run", plan, "--steps", "5", "--checkpoint", from, "--resume", "--save", "resumed-"+from)
		}
		same("resumed-ck", "resumed-ck2")
		must(t, "run", moved, "--steps", "4", "--threads", "1", "--save", "one")
		same("moved", "one")
		if err := os.Rename(moved, "first.bin"); err != nil {
			t.Fatal(err)
		}
		same("first.bin", compiled(t, small, "offload", target))
		for _, dir := range []string{"ck", "ck2"} {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}

	r := must(t, "explain", "first.bin")
	for _, want := range []string{" of the host, and ", " on disk", "Transfers between memories", "device_to_host host", "host_to_device disk", "offload optimizer gpt.ptl:", "offload activations gpt.ptl:"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("explain does not say %q:\n%s", want, r.out)
		}
	}
	var d struct {
		Memory struct {
			Host  []int64          `json:"host_bytes_per_device"`
			Disk  []int64          `json:"disk_bytes_per_device"`
			Arena map[string]int64 `json:"arena"`
		} `json:"memory"`
		Transfers []explain.Transfer `json:"transfers"`
	}
	if err := json.Unmarshal([]byte(must(t, "explain", "first.bin", "--json").out), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Memory.Host) != 1 || d.Memory.Host[0] == 0 || d.Memory.Disk[0] == 0 || len(d.Transfers) != 4 {
		t.Errorf("%+v", d)
	}
	moves := map[string]int64{}
	for _, x := range d.Transfers {
		moves[x.Kind+" "+x.Memory] = x.Bytes
	}
	if moves["host_to_device host"] != moves["device_to_host host"] || moves["host_to_device disk"] != moves["device_to_host disk"] {
		t.Errorf("what is stored is not what is fetched: %v", moves)
	}
	if e := ptc(t, "run", "first.bin", "--offload-dir", "no/folder"); e.code != 3 || !strings.Contains(e.err, "no/folder cannot be made: no such file or directory") {
		t.Errorf("exit code %d:\n%s", e.code, e.err)
	}
}
