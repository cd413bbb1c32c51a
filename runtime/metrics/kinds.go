package metrics

import (
	"fmt"
	"io"
	"os"
)

// Kind is a kind of sinks that have a target, as `ptc run --log kind:target` names them.
type Kind struct {
	Name   string
	Target string // what the target is, for help: FILE, DIR, ADDR
	Doc    string
	Open   func(target string) (Sink, error)
}

// kinds are all of them, in the order in which help lists them.
var kinds = []Kind{
	{"json", "FILE", "an object on each line, as --log json prints", openJSON},
	{"csv", "FILE", "a row for each step and each validation", openCSV},
	{"tb", "DIR", "event files of TensorBoard", openEvents},
	{"prom", "ADDR", "text for Prometheus at http://ADDR/metrics, as long as the run lasts", openProm},
}

// Kinds are the sinks that have a target.
func Kinds() []Kind { return kinds }

// appended opens a log: who runs twice has both runs in it, and who resumes one run, in which
// each step is once.
func appended(path string) (f *os.File, empty bool, err error) {
	st, err := os.Stat(path)
	if err == nil && !st.Mode().IsRegular() && st.Mode()&(os.ModeNamedPipe|os.ModeCharDevice) == 0 {
		return nil, false, fmt.Errorf("%s is no file", path)
	}
	empty = err != nil || st.Size() == 0
	f, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	return f, empty, err
}

// endLine ends a line that a full disk left unfinished, so that it spoils no other one.
func endLine(path string, to io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, st.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = to.Write([]byte("\n"))
	return err
}

func openJSON(path string) (Sink, error) {
	f, empty, err := appended(path)
	if err == nil && !empty {
		err = endLine(path, f)
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	j := NewJSON(f)
	j.path = path
	return j, nil
}
