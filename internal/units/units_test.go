package units

import (
	"testing"
	"time"
)

func TestTexts(t *testing.T) {
	for _, c := range [][2]string{
		{Bytes(0), "0 B"}, {Bytes(1023), "1023 B"}, {Bytes(1024), "1.00 KiB"},
		{AtLeast(1000), "1000 B"}, {AtLeast(1024), "1.00 KiB"}, {AtLeast(1025), "1.01 KiB"}, {AtLeast(80<<30 + 1), "80.1 GiB"}, {AtLeast(9970 << 20), "9.74 GiB"},
		{Bytes(1023 * 1024), "1.00 MiB"}, {Bytes(12345678), "11.8 MiB"}, {Bytes(1 << 62), "4.00 EiB"},
		{Count(999, ""), "999"}, {Count(1000, ""), "1.00k"}, {Count(999600, ""), "1.00M"},
		{Count(123456, "FLOP"), "123 kFLOP"}, {Count(0, "FLOP"), "0 FLOP"}, {Count(2e18, "FLOP"), "2.00 EFLOP"},
		{Duration(1500 * time.Nanosecond), "2 us"}, {Duration(12 * time.Millisecond), "12 ms"}, {Duration(2500 * time.Millisecond), "2.50 s"},
		{Plural(1, "launch"), "1 launch"}, {Plural(0, "launch"), "0 launches"}, {Plural(2, "kernel"), "2 kernels"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, expected %q", c[0], c[1])
		}
	}
}
