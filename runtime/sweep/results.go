package sweep

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"ptc/internal/regular"
	"ptc/runtime/checkpoint/atomicfile"
)

// Result is what came of a point. Numbers that are not known, or not finite, are nil.
type Result struct {
	Point    int       `json:"point"`
	Settings []Setting `json:"settings"`
	Model    string    `json:"model_hash"` // of the sources, the config and the layout
	Steps    int64     `json:"steps"`
	Loss     *float64  `json:"loss"`
	ValLoss  *float64  `json:"val_loss"`
	Stopped  bool      `json:"stopped,omitempty"` // before its last step, as validation got no better
	Error    string    `json:"error,omitempty"`   // of a run that failed; it is tried again
}

// resultName is the file of a result in the folder of its point.
const resultName = "result.json"

// maxResult bounds it.
const maxResult = 1 << 20

// Dir is the folder of a point.
func Dir(below string, point int) string { return filepath.Join(below, fmt.Sprintf("point-%d", point)) }

// Load reads the result of a point; nil where there is none yet.
func Load(below string, point int) (*Result, error) {
	path := filepath.Join(Dir(below, point), resultName)
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := regular.ReadAll(f, maxResult)
	if err != nil {
		return nil, err
	}
	r, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Point != point {
		return nil, fmt.Errorf("%s is the result of point %d", path, r.Point)
	}
	return r, nil
}

// decode reads a result and nothing else.
func decode(text []byte) (*Result, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	r := &Result{}
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("it is not the result of a point: %w", err)
	}
	if d.More() {
		return nil, errors.New("it is not the result of a point: more text follows it")
	}
	return r, nil
}

// Of says whether a result is of the point and the model; else why not.
func (r *Result) Of(p Point, model string) error {
	switch {
	case !slices.Equal(r.Settings, p.Settings):
		return fmt.Errorf("it is of %s, but point %d of this sweep is %s", Point{Settings: r.Settings}, p.Number, p)
	case r.Model != model:
		return fmt.Errorf("it is of another model, configuration or layout")
	}
	return nil
}

// Save writes a result.
func (r *Result) Save(below string) error {
	return atomicfile.WriteJSON(filepath.Join(Dir(below, r.Point), resultName), r)
}

// Write writes results.csv and results.json.
func Write(below string, results []Result) error {
	table, err := CSV(results)
	if err != nil {
		return err
	}
	return errors.Join(atomicfile.WriteJSON(filepath.Join(below, "results.json"), results),
		atomicfile.WriteFile(filepath.Join(below, "results.csv"), table))
}

// figures are the columns behind the settings.
var figures = []string{"steps", "loss", "val_loss", "error"}

// column is that of a setting. One that a figure has the name of, such as steps, is told
// apart: who reads a table finds columns by their names.
func column(name string) string {
	if name == "point" || slices.Contains(figures, name) {
		return "over." + name
	}
	return name
}

// rows are the cells of a table, its head first.
func rows(results []Result, number func(*float64) string) [][]string {
	head := []string{"point"}
	if len(results) > 0 {
		for _, s := range results[0].Settings {
			head = append(head, column(s.Name))
		}
	}
	out := [][]string{append(head, figures...)}
	for _, r := range results {
		row := []string{strconv.Itoa(r.Point)}
		for _, s := range r.Settings {
			row = append(row, s.Value)
		}
		out = append(out, append(row, strconv.FormatInt(r.Steps, 10), number(r.Loss), number(r.ValLoss), r.Error))
	}
	return out
}

// CSV is a table (RFC 4180), with all digits of numbers.
func CSV(results []Result) ([]byte, error) {
	var b bytes.Buffer
	err := csv.NewWriter(&b).WriteAll(rows(results, func(x *float64) string {
		if x == nil {
			return ""
		}
		return strconv.FormatFloat(*x, 'g', -1, 64)
	}))
	return b.Bytes(), err
}

// Table is for people; the best point is marked.
func Table(results []Result) string {
	best := Best(results)
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, row := range rows(results, func(x *float64) string {
		if x == nil {
			return "-"
		}
		return fmt.Sprintf("%.4f", *x)
	}) {
		mark := ""
		if i > 0 && i-1 == best {
			mark = "best"
		}
		short := row[len(row)-1]
		if len([]rune(short)) > 60 {
			short = string([]rune(short)[:59]) + "…"
		}
		row[len(row)-1] = strings.ReplaceAll(short, "\n", " ")
		fmt.Fprintf(w, "%s\t%s\n", strings.Join(row, "\t"), mark)
	}
	_ = w.Flush() // to a strings.Builder
	var lines []string
	for l := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(l, " \n"))
	}
	return strings.Join(lines, "\n") + "\n"
}

// Best is the index of the result with the lowest validation loss, or, where none has
// one, the lowest loss of the last step; -1 where none has either.
func Best(results []Result) int {
	for _, of := range []func(*Result) *float64{func(r *Result) *float64 { return r.ValLoss }, func(r *Result) *float64 { return r.Loss }} {
		best := -1
		for i := range results {
			if x := of(&results[i]); results[i].Error == "" && x != nil && (best < 0 || *x < *of(&results[best])) {
				best = i
			}
		}
		if best >= 0 {
			return best
		}
	}
	return -1
}

// MkdirAll makes the folder of a point.
func MkdirAll(below string, point int) error { return os.MkdirAll(Dir(below, point), 0o777) }
