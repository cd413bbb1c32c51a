package corpus

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/parquet-go/parquet-go"
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
		return fmt.Errorf("it is no parquet file: %w", err)
	}
	text, err := leaf(f, c.Text)
	if err != nil {
		return err
	}
	prompt := -1
	if c.Prompt != "" {
		if prompt, err = leaf(f, c.Prompt); err != nil {
			return err
		}
	}
	row := 0
	for _, g := range f.RowGroups() {
		if err := readRows(g, text, prompt, &row, do); err != nil {
			return err
		}
	}
	return nil
}

// leaf finds a column by its name; a list's is below it.
func leaf(f *parquet.File, name string) (int, error) {
	var names []string
	for i, path := range f.Schema().Columns() {
		if path[0] == name {
			return i, nil
		}
		names = append(names, path[0])
	}
	return 0, fmt.Errorf("there is no column %q; there are %s", name, strings.Join(names, ", "))
}

func readRows(g parquet.RowGroup, text, prompt int, row *int, do func(Document) error) error {
	rows := g.Rows()
	defer rows.Close()
	buf := make([]parquet.Row, 64)
	for {
		n, err := rows.ReadRows(buf)
		for _, r := range buf[:n] {
			d, bad := rowDocument(r, text, prompt)
			if bad != nil {
				return fmt.Errorf("row %d: %w", *row, bad)
			}
			*row++
			if bad := do(d); bad != nil {
				return bad
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", *row, err)
		}
	}
}

func rowDocument(r parquet.Row, text, prompt int) (d Document, err error) {
	for _, v := range r {
		switch {
		case v.Column() == prompt:
			d.Prompt = append([]byte(nil), v.ByteArray()...)
		case v.Column() != text || v.IsNull():
		case v.Kind() == parquet.ByteArray:
			d.Text = append([]byte{}, v.ByteArray()...)
		case v.Kind() == parquet.Int32 || v.Kind() == parquet.Int64:
			n := v.Int64()
			if v.Kind() == parquet.Int32 {
				n = int64(v.Int32())
			}
			if n < 0 || n > math.MaxInt32 {
				return d, fmt.Errorf("the token %d is out of range", n)
			}
			d.Tokens = append(d.Tokens, int32(n))
		default:
			return d, fmt.Errorf("the column has %s, and text or whole numbers are read", v.Kind())
		}
	}
	return d, nil
}
