package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// read gives the results of an earlier run by name; none if there was no run.
func read(path string) (map[string]result, error) {
	out := map[string]result{}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	var all []result
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, x := range all {
		out[x.Name] = x
	}
	return out, nil
}

// write puts results in the order of rows into a file and the table of a page: those of this run, and earlier ones of rows that
// are not done yet.
func write(done []result, before map[string]result, file, page string) error {
	now := map[string]result{}
	for _, x := range done {
		now[x.Name] = x
	}
	var all []result
	for _, r := range rows() {
		if x, ok := now[r.Name]; ok {
			all = append(all, x)
		} else if x, ok := before[r.Name]; ok {
			all = append(all, x)
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o666); err != nil {
		return err
	}
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	next, err := between(string(old), table(all))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(next), 0o666)
}

// begin and end stand around the table of the page.
const begin, end = "<!-- published -->\n", "<!-- end of published -->\n"

// between is a page with its table replaced.
func between(page, table string) (string, error) {
	head, rest, ok := strings.Cut(page, begin)
	_, tail, too := strings.Cut(rest, end)
	if !ok || !too {
		return "", fmt.Errorf("it lacks the lines %q and %q", begin, end)
	}
	return head + begin + "\n" + table + "\n" + end + tail, nil
}

// table is the results as Markdown.
func table(all []result) string {
	var b strings.Builder
	b.WriteString("| model and devices | machine | published layout | s | layout found | s | ratio | CPU-s |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range all {
		x := &all[i]
		published, ratio := fmt.Sprintf("%.4g", x.StepS), fmt.Sprintf("%.3f", x.Ratio)
		switch {
		case x.Refused != "":
			published, ratio = "refused", "–"
		case !x.Fits:
			published, ratio = published+", does not fit", "–"
		}
		found := fmt.Sprintf("%.4g", x.WinnerS)
		if x.Gap > 0 {
			found += fmt.Sprintf(" (gap %.2g%%)", 100*x.Gap)
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s | %s | %.0f |\n", x.Name, x.Machine, short(x.Published), published, short(x.Winner), found, ratio, x.CPU)
	}
	return b.String()
}

// short is a path in few words: sizes above one, and choices that are not the usual ones.
func short(path string) string {
	w := strings.Split(path, "/")
	var out []string
	for _, x := range strings.Fields(w[1]) {
		if x[2:] != "1" {
			out = append(out, x[:2]+" "+x[2:])
		}
	}
	if w[3] == "on" {
		out = append(out, "sp")
	}
	out = append(out, "rows "+w[4])
	if w[5] != "none" {
		out = append(out, "recompute "+w[5])
	}
	if w[6] != "0" {
		out = append(out, "zero "+w[6])
	}
	if s := strings.TrimSpace(w[8]); s != "1" {
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}
