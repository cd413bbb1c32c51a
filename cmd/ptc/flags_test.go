package main

import (
	"strings"
	"testing"
)

// TestFlagsSayWhatTheyExpect: of a value that cannot be read the message says what was found and
// what is expected, in words that are not those of Go's parsers.
func TestFlagsSayWhatTheyExpect(t *testing.T) {
	for _, c := range []struct {
		say  string
		args []string
	}{
		{"--threads\" flag: expected a whole number, found `x`", []string{"run", "a.bin", "--threads", "x"}},
		{"expected a whole number, found `1e3`", []string{"run", "a.bin", "--steps", "1e3"}},
		{"expected a whole number, found ``", []string{"run", "a.bin", "--steps="}},
		{"expected a whole number without a 0 in front", []string{"sweep", "a.ptl", "--point", "08"}},
		{"expected a whole number from 0, found `-1`", []string{"run", "a.bin", "--seed", "-1"}},
		{"expected a whole number, and `99999999999999999999` is too large", []string{"run", "a.bin", "--steps", "99999999999999999999"}},
		{"expected a duration, such as 90s, 5m or 1h30m", []string{"run", "a.bin", "--comm-timeout", "5"}},
		{"expected a duration", []string{"deploy", "slurm", "a.bin", "--time", "soon"}},
		{"expected true or false, found `maybe`", []string{"run", "a.bin", "--verbose=maybe"}},
		{"expected a number, found `hot`", []string{"sample", "a.bin", "--temperature", "hot"}},
		{"expected a number, and `1e999` is too large", []string{"sample", "a.bin", "--temperature", "1e999"}},
		{"expected a whole number, found `b`", []string{"sample", "a.bin", "--prompt-ids", "5,b"}},
		{"expected a whole number, found `two`", []string{"data", "prepare", "a", "--threads", "two"}},
		{"expected one of auto, host, nccl", []string{"run", "a.bin", "--comm", "mail"}},
	} {
		r := ptc(t, c.args...)
		if r.code != exitUsage || !strings.Contains(r.err, c.say) || strings.Contains(r.err, "strconv") || strings.Contains(r.err, "time: ") {
			t.Errorf("ptc %s: exit code %d, want %q in\n%s", strings.Join(c.args, " "), r.code, c.say, r.err)
		}
	}
}
