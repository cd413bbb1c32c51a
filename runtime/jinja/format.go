package jinja

import (
	"regexp"
	"strconv"
	"strings"
)

// directive is one of a format: flags, width, precision and kind.
var directive = regexp.MustCompile(`^%([-+ 0]*)(\d*)(?:\.(\d+))?([sridfxX%])`)

// format is Python's format % args, of texts and numbers.
func (s *state) format(format string, args []Value, line int) string {
	var b strings.Builder
	for format != "" {
		at := strings.IndexByte(format, '%')
		if at < 0 {
			at = len(format)
		}
		b.WriteString(format[:at])
		if format = format[at:]; format == "" {
			break
		}
		d := directive.FindStringSubmatch(format)
		if d == nil {
			fail(line, "the format %q is not known here", clip(format))
		}
		if format = format[len(d[0]):]; d[4] == "%" {
			b.WriteByte('%')
			continue
		}
		if len(args) == 0 {
			fail(line, "a format has more directives than arguments")
		}
		b.WriteString(s.directive(d[1], d[2], d[3], d[4], args[0], line))
		args = args[1:]
		s.pay(b.Len(), line)
	}
	if len(args) > 0 {
		fail(line, "a format has fewer directives than arguments")
	}
	return b.String()
}

func (s *state) directive(flags, width, precision, kind string, v Value, line int) string {
	w, _ := strconv.Atoi(width)
	p, err := strconv.Atoi(precision)
	if w > 1000 || p > 1000 {
		fail(line, "a format is wider than 1000 characters")
	}
	var out string
	sign := ""
	switch kind {
	case "s":
		out = s.show(v, line)
	case "r":
		var r strings.Builder
		s.repr(&r, v, line, 0)
		out = r.String()
	default:
		i, f, isFloat, ok := number(v)
		if !ok || isFloat && (kind == "x" || kind == "X") {
			refuseUndefined(v, line)
			fail(line, "%%%s of a format takes a number", kind)
		}
		if isFloat && kind != "f" {
			i = int64(f)
		}
		negative := i < 0 || isFloat && f < 0
		if negative {
			sign, i, f = "-", -i, -f
		} else if strings.Contains(flags, "+") {
			sign = "+"
		} else if strings.Contains(flags, " ") {
			sign = " "
		}
		switch kind {
		case "f":
			if err != nil {
				p = 6
			}
			out = strconv.FormatFloat(f, 'f', p, 64)
		case "x":
			out = strconv.FormatInt(i, 16)
		case "X":
			out = strings.ToUpper(strconv.FormatInt(i, 16))
		default:
			out = strconv.FormatInt(i, 10)
		}
	}
	if r := []rune(out); (kind == "s" || kind == "r") && err == nil && len(r) > p {
		out = string(r[:p])
	}
	pad := max(0, w-len(sign)-len([]rune(out)))
	switch {
	case strings.Contains(flags, "-"):
		return sign + out + strings.Repeat(" ", pad)
	case strings.Contains(flags, "0") && kind != "s" && kind != "r":
		return sign + strings.Repeat("0", pad) + out
	}
	return strings.Repeat(" ", pad) + sign + out
}

// clip shortens what a message quotes of a template.
func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}
