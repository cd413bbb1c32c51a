package ir

import (
	"strconv"
	"strings"
)

func (v Ints) String() string {
	s := make([]string, len(v))
	for i, n := range v {
		s[i] = strconv.FormatInt(n, 10)
	}
	return "[" + strings.Join(s, ", ") + "]"
}
