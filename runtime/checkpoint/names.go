package checkpoint

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	stepPrefix = "step-"
	tmpPrefix  = ".tmp-"
)

// What the name of a checkpoint's folder may end with while another one takes its
// place, see publish.
const (
	newSuffix = ".new"
	oldSuffix = ".old"
)

func stepName(step int64) string { return fmt.Sprintf("%s%08d", stepPrefix, step) }

// parseName is the inverse of stepName and a suffix: one of those above, or the
// number that tells folders of one step in an object store apart, see free.
func parseName(name string) (step int64, suffix string, ok bool) {
	rest, ok := strings.CutPrefix(name, stepPrefix)
	if !ok {
		return 0, "", false
	}
	digits := rest
	if i := strings.IndexByte(rest, '.'); i >= 0 {
		digits, suffix = rest[:i], rest[i:]
	}
	step, err := strconv.ParseInt(digits, 10, 64)
	return step, suffix, err == nil && step >= 0 && stepName(step)+suffix == name && isSuffix(suffix)
}

func isSuffix(s string) bool {
	if s == "" || s == newSuffix || s == oldSuffix {
		return true
	}
	n, err := strconv.ParseInt(s[1:], 10, 64)
	return err == nil && n > 0 && numberSuffix(n) == s
}

func numberSuffix(n int64) string { return fmt.Sprintf(".%d", n) }
