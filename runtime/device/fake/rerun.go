package fake

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Rerun runs the tests of a package again, each time in a process of its own in
// which init, by FromEnv, puts fake engines in the place of all; but for those that
// skip names, a regular expression. In such a process it does nothing.
func Rerun(t *testing.T, skip string, seeds ...uint64) {
	if os.Getenv(Env) != "" {
		t.Skip("on fake engines")
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			args := []string{"-test.v", "-test.timeout=20m", "-test.skip=" + skip}
			if testing.Short() {
				args = append(args, "-test.short")
			}
			c := exec.Command(os.Args[0], args...)
			c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", Env, seed))
			out, err := c.CombinedOutput()
			if err == nil && strings.Count(string(out), "\n--- PASS") > 0 {
				return
			}
			var failed []string
			for line := range strings.Lines(string(out)) {
				if !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(strings.TrimSpace(line), "--- PASS") {
					failed = append(failed, line)
				}
			}
			t.Errorf("%v, with %s=%d:\n%s", err, Env, seed, strings.Join(failed, ""))
		})
	}
}
