package jinja

import (
	"fmt"
	"strings"
	"time"
)

// layouts are the directives of strftime in the locale C, as layouts of Go.
var layouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'd': "02", 'e': "_2", 'm': "01", 'y': "06", 'Y': "2006",
	'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'Z': "", 'z': "",
	'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", 'D': "01/02/06", 'x': "01/02/06", 'X': "15:04:05", 'c': "Mon Jan _2 15:04:05 2006",
	'r': "03:04:05 PM",
}

func strftime(t time.Time, format string, line int) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		strip := format[i] == '-' && i+1 < len(format)
		if strip {
			i++
		}
		var piece string
		switch d := format[i]; d {
		case '%':
			piece = "%"
		case 'n':
			piece = "\n"
		case 't':
			piece = "\t"
		case 'j':
			piece = fmt.Sprintf("%03d", t.YearDay())
		case 'f':
			piece = fmt.Sprintf("%06d", t.Nanosecond()/1000)
		case 'w':
			piece = fmt.Sprint(int(t.Weekday()))
		case 'u':
			piece = fmt.Sprint((int(t.Weekday())+6)%7 + 1)
		default:
			layout, ok := layouts[d]
			if !ok {
				fail(line, "%%%c of strftime_now is not known here", d)
			}
			piece = t.Format(layout)
			if layout == "" {
				piece = ""
			}
		}
		if strip {
			piece = strings.TrimLeft(piece, "0 ")
			if piece == "" {
				piece = "0"
			}
		}
		b.WriteString(piece)
	}
	return b.String()
}
