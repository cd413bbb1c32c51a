package local_test

import (
	"fmt"
	"testing"

	"ptc/runtime/comm"
	"ptc/runtime/comm/commtest"
	_ "ptc/runtime/comm/local"
)

func open(t *testing.T, devices int, o comm.Options) []comm.Device {
	t.Helper()
	devs, err := comm.Open("local", commtest.Mesh(devices), o)
	if err != nil {
		t.Fatal(err)
	}
	return devs
}

func TestConformance(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 6, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			err := comm.Run(open(t, n, comm.Options{}), func(d comm.Device) error {
				_, err := commtest.Run(d, 1, 120)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
