package corpus

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/parquet-go/parquet-go"
	logical "github.com/parquet-go/parquet-go/format"

	"ptc/internal/units"
)

// readParquet reads one column of text or of lists of numbers, row by row.
func readParquet(r io.ReaderAt, size int64, c Columns, do func(Document) error) (err error) {
	// The library answers some broken files with a panic, which is no answer to
	// the owner of the file.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parquet file is broken: %v", p)
		}
	}()
	f, err := parquet.OpenFile(r, size, parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("it is not a parquet file: %w", err)
	}
	if err := checkValues(f, size); err != nil {
		return err
	}
	if c.Record {
		return readParquetRecords(f, do)
	}
	rows := rowReader{prompt: column{index: -1}}
	if rows.text, err = findColumn(f, c.Text); err != nil {
		return err
	}
	if c.Prompt != "" {
		if rows.prompt, err = findColumn(f, c.Prompt); err != nil {
			return err
		}
		if !rows.prompt.text() {
			return fmt.Errorf("the column %q has no text, but prompts are text", c.Prompt)
		}
	}
	for _, g := range f.RowGroups() {
		if g.NumRows() == 0 { // which the library cannot read
			continue
		}
		if err := rows.group(g, do); err != nil {
			return err
		}
	}
	return nil
}

// maxValues and what a file has in bytes bound the values of a group of rows: a list of a million equal numbers is
// some bytes of the file, and each number some forty in memory.
const maxValues = 4 << 20

// checkValues refuses files whose groups of rows have many more values than bytes, and more than a row in memory
// may have.
func checkValues(f *parquet.File, size int64) error {
	most := maxValues + min(size, math.MaxInt64/maxRatio)*maxRatio/8
	for i, g := range f.Metadata().RowGroups {
		for _, c := range g.Columns {
			if c.MetaData.NumValues > max(most, g.NumRows) {
				return fmt.Errorf("its row group %d has %d values in the column %q for %d rows, but a file of %s may have %d in a group: write it with smaller row groups",
					i, c.MetaData.NumValues, strings.Join(c.MetaData.PathInSchema, "."), g.NumRows, units.Bytes(size), most)
			}
			if c.MetaData.TotalUncompressedSize > plainBytes+min(size, math.MaxInt64/maxRatio)*maxRatio {
				return fmt.Errorf("its column %q expands to more than %d times the size of the file, which is the limit: write it again with another compression", strings.Join(c.MetaData.PathInSchema, "."), maxRatio)
			}
		}
	}
	return nil
}

// column is a leaf of the schema: text, a whole number, or a list of whole numbers.
type column struct {
	index   int
	kind    parquet.Kind
	element int // the definition level from which on a null is an element of a list; 0: no list
}

func (c column) text() bool { return c.kind == parquet.ByteArray }

// findColumn finds a column by its name, which is that of groups and of what is in them with
// points between, meta.text. What is in a list is found by the list's.
func findColumn(f *parquet.File, name string) (column, error) {
	var all, below []string
	var found []string
	at := -1
	for i, path := range f.Schema().Columns() {
		full := strings.Join(path, ".")
		all = append(all, full)
		if full == name || strings.HasPrefix(full, name+".") {
			at, found, below = i, path, append(below, full)
		}
	}
	switch {
	case at < 0:
		return column{}, fmt.Errorf("there is no column %q; the columns are %s", name, strings.Join(all, ", "))
	case len(below) > 1:
		return column{}, fmt.Errorf("the column %q is a group; name one of %s", name, strings.Join(below, ", "))
	}
	return newColumn(f, name, found, at)
}

func newColumn(f *parquet.File, name string, path []string, index int) (column, error) {
	c := column{index: index}
	var node parquet.Node = f.Schema()
	level, lists := 0, 0
	for _, part := range path {
		for _, field := range node.Fields() {
			if field.Name() == part {
				node = field
				break
			}
		}
		if node.Optional() || node.Repeated() {
			level++
		}
		if node.Repeated() {
			c.element = level
			lists++
		}
	}
	if t := node.Type().LogicalType(); t != nil {
		if _, null := t.Value.(*logical.NullType); null {
			return c, fmt.Errorf("the column %q has only nulls", name)
		}
	}
	switch c.kind = node.Type().Kind(); {
	case c.kind != parquet.ByteArray && c.kind != parquet.Int32 && c.kind != parquet.Int64:
		return c, fmt.Errorf("the column %q has %s, but must have text or integers", name, c.kind)
	case lists > 1 || lists > 0 && c.text():
		return c, fmt.Errorf("the column %q has several texts or lists in a row, but a document is one text or one list of integers", name)
	}
	return c, nil
}

// rowReader makes documents of rows.
type rowReader struct {
	text, prompt column
	row          int // the next one, in the file
}

// eachRow calls do for every row of a group, with its number in the file.
func eachRow(g parquet.RowGroup, number *int, do func(parquet.Row) error) error {
	rows := g.Rows()
	defer rows.Close()
	buf := make([]parquet.Row, 64)
	for {
		n, err := rows.ReadRows(buf)
		for _, row := range buf[:n] {
			if bad := do(row); bad != nil {
				return bad
			}
			*number++
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", *number, err)
		}
	}
}

func (r *rowReader) group(g parquet.RowGroup, do func(Document) error) error {
	return eachRow(g, &r.row, func(row parquet.Row) error {
		d, err := r.document(row)
		if err != nil {
			return fmt.Errorf("row %d: %w", r.row, err)
		}
		return do(d)
	})
}

// document is a row's; one that is null has no tokens.
func (r *rowReader) document(row parquet.Row) (d Document, err error) {
	d.Tokens = []int32{}
	for _, v := range row {
		switch {
		case v.Column() == r.prompt.index:
			d.Prompt = append([]byte(nil), v.ByteArray()...)
		case v.Column() != r.text.index:
		case v.IsNull():
			if r.text.element > 0 && v.DefinitionLevel() >= r.text.element {
				return d, errors.New("a token of its list is null")
			}
		case r.text.text():
			d.Text, d.Tokens = append([]byte{}, v.ByteArray()...), nil
		default:
			n := v.Int64()
			if r.text.kind == parquet.Int32 {
				n = int64(v.Int32())
			}
			if n < 0 || n > math.MaxInt32 {
				return d, fmt.Errorf("the token %d is out of range", n)
			}
			d.Tokens = append(d.Tokens, int32(n))
		}
	}
	return d, nil
}
