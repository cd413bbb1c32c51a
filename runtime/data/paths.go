package data

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// hasVariable says whether a pattern has values that are not to be shown: those of
// the environment may be secrets. Messages then have the pattern as it is written.
func hasVariable(pattern string) bool { return strings.Contains(pattern, "${") }

// expand replaces each ${NAME} of a pattern by its value: from vars, else from
// the environment. What a value holds is taken literally, never as a pattern.
func expand(pattern string, vars []Option) (string, error) {
	var out strings.Builder
	rest := pattern
	for {
		before, after, found := strings.Cut(rest, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed || !isVariable(name) {
			return "", &Error{Path: pattern, Msg: "found ${ that is not a variable such as ${HOME}"}
		}
		value, ok := lookup(name, vars)
		if !ok {
			return "", &Error{Path: pattern, Msg: "variable " + name + " has no value",
				Hint: "set " + name + " in the environment of ptc run"}
		}
		out.WriteString(escapeMeta(filepath.ToSlash(value)))
		rest = tail
	}
}

// lookup treats an empty value as none: it would turn ${X}/src into /src.
func lookup(name string, vars []Option) (string, bool) {
	for _, v := range vars {
		if v.Key == name {
			return v.Value, v.Value != ""
		}
	}
	if v := os.Getenv(name); v != "" {
		return v, true
	}
	if name == "GOROOT" {
		return findGoroot()
	}
	return "", false
}

// findGoroot asks the go command, then looks where Go is usually installed.
func findGoroot() (string, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "env", "GOROOT")
	// Without this, a go.mod in the current directory could start a download of
	// another toolchain.
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GO111MODULE=off")
	if out, err := cmd.Output(); err == nil {
		if dir := strings.TrimSpace(string(out)); dir != "" {
			return dir, true
		}
	}
	dirs := []string{"/usr/local/go", "/usr/lib/go", "/usr/lib/golang", "/usr/share/go",
		"/opt/homebrew/opt/go/libexec", "/usr/local/opt/go/libexec"}
	if runtime.GOOS == "windows" {
		dirs = []string{`C:\Program Files\Go`}
	}
	for _, dir := range dirs {
		if st, err := os.Stat(filepath.Join(dir, "src", "fmt")); err == nil && st.IsDir() {
			return dir, true
		}
	}
	return "", false
}

func isVariable(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// escapeMeta makes a literal of what doublestar would read as a pattern.
func escapeMeta(s string) string {
	if !strings.ContainsAny(s, `\*?[]{}!`) {
		return s
	}
	var b strings.Builder
	for _, c := range []byte(s) {
		if strings.IndexByte(`\*?[]{}!`, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// splitGlob cuts an expanded pattern into the directory before its first
// special character and a pattern below it; a plain file name is the pattern
// that matches itself, and a directory is everything below it.
func splitGlob(pattern string) (base, glob string) {
	base, glob = doublestar.SplitPattern(pattern)
	if base = unescape(base); liveMeta(glob) {
		return base, glob
	}
	if st, err := os.Stat(filepath.Join(base, unescape(glob))); err == nil && st.IsDir() {
		return filepath.Join(base, unescape(glob)), "**"
	}
	return base, glob
}

// liveMeta is whether a pattern has a special character that is not escaped.
func liveMeta(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\':
			i++
		case strings.IndexByte("*?[{", pattern[i]) >= 0:
			return true
		}
	}
	return false
}

// unescape takes what escapeMeta has put before special characters away.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(`\*?[]{}!`, s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// literal makes a literal of the parts of a pattern that name what is there, as x[1].npy does, which
// as a pattern would match x1.npy alone. A part with * is a pattern, and so is what follows it.
func literal(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, p := range parts {
		if strings.Contains(strings.ReplaceAll(p, `\*`, ""), "*") {
			break
		}
		if strings.Contains(p, `\`) || !strings.ContainsAny(p, "[]{}") {
			continue
		}
		if _, err := os.Stat(filepath.FromSlash(unescape(strings.Join(parts[:i+1], "/")))); err != nil {
			break
		}
		parts[i] = escapeMeta(p)
	}
	return strings.Join(parts, "/")
}
