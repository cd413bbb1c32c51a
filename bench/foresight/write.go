package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
)

// report is bench/foresight.json.
type report struct {
	SC21   *weakScaling `json:"sc21"`
	NCCL   *reductions  `json:"nccl"`
	Single *single      `json:"vtrain_single"`
}

// write writes the report, with numbers of four digits, and puts its tables into the document.
func (r *report) write(file, document string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return err
	}
	if text, err = json.MarshalIndent(rounded(tree), "", "  "); err != nil {
		return err
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o666); err != nil {
		return err
	}
	old, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	page, err := between(old, r.tables())
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	return os.WriteFile(document, page, 0o666)
}

// rounded is a tree of JSON whose numbers have four digits.
func rounded(x any) any {
	switch x := x.(type) {
	case float64:
		return digits(x)
	case []any:
		for i := range x {
			x[i] = rounded(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = rounded(x[k])
		}
	}
	return x
}

// digits rounds to four digits; whole numbers stay.
func digits(x float64) float64 {
	if x == math.Trunc(x) {
		return x
	}
	unit := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*unit) / unit
}

// The lines of the document between which the tables stand.
const (
	tablesBegin = "<!-- tables by make foresight -->"
	tablesEnd   = "<!-- end of tables -->"
)

// between is a document with other text between the markers.
func between(page []byte, text string) ([]byte, error) {
	head, rest, ok := bytes.Cut(page, []byte(tablesBegin+"\n"))
	_, tail, found := bytes.Cut(rest, []byte(tablesEnd))
	if !ok || !found {
		return nil, fmt.Errorf("has no lines %q and %q", tablesBegin, tablesEnd)
	}
	return slices.Concat(head, []byte(tablesBegin+"\n"), []byte(text), []byte(tablesEnd), tail), nil
}

// tables are the tables of the document.
func (r *report) tables() string {
	var b strings.Builder
	s, n, v := r.SC21, r.NCCL, r.Single
	b.WriteString("| table | rows | fitted | mean error | largest |\n| --- | --- | --- | --- | --- |\n")
	fmt.Fprintf(&b, "| Megatron-LM, 32 to 3,072 devices | %d | nothing of the table | %s | %s |\n", s.Rows, percent(s.Mean), percent(s.Max))
	fmt.Fprintf(&b, "| the same | %d | one scalar, to the other rows | %s | %s |\n", s.Rows, percent(s.LOOMean), percent(s.LOOMax))
	fmt.Fprintf(&b, "| Megatron-LM, one node | %s | %d numbers, to other folds | %s (median %s) | %s |\n", thousands(v.Rows), len(v.Fitted), percent(v.Mean), percent(v.Median), percent(v.Max))
	fmt.Fprintf(&b, "| NCCL, all-reduce | %s | start and share of the link, to other folds | %s | %s |\n", thousands(n.Rows), percent(n.Mean), percent(n.Max))
	b.WriteString("\n| model | measured | predicted | error | with the scalar |\n| --- | --- | --- | --- | --- |\n")
	for _, p := range s.Runs {
		fmt.Fprintf(&b, "| %s | %.2f s | %.2f s | %+.1f%% | %+.1f%% |\n", p.Name, p.Measured, p.Predicted, 100*p.Error, 100*p.LOO)
	}
	b.WriteString("\n| number | fitted to the runs on one node |\n| --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(v.Fitted)) {
		x := v.Fitted[name]
		if x < 1e-2 {
			fmt.Fprintf(&b, "| `%s` | %.3g us |\n", name, x*1e6)
		} else {
			fmt.Fprintf(&b, "| `%s` | %.3g |\n", name, x)
		}
	}
	return b.String()
}

func percent(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }

// thousands writes a number below a million with a comma.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
