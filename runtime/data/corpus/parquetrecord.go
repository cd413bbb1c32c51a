package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/parquet-go/parquet-go"
)

// readParquetRecords makes an object of JSON of every row.
func readParquetRecords(f *parquet.File, do func(Document) error) error {
	n := 0
	for _, g := range f.RowGroups() {
		if g.NumRows() == 0 { // which the library cannot read
			continue
		}
		if err := recordsOf(f.Schema(), g, &n, do); err != nil {
			return err
		}
	}
	return nil
}

func recordsOf(schema *parquet.Schema, g parquet.RowGroup, number *int, do func(Document) error) error {
	return eachRow(g, number, func(row parquet.Row) error {
		place := fmt.Sprintf("row %d", *number)
		var v any
		var b bytes.Buffer
		err := schema.Reconstruct(&v, row)
		if err == nil {
			err = writeNode(&b, schema, v, 0)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		return do(Document{Record: b.Bytes(), Place: place})
	})
}

// maxNested bounds how deep groups are within each other.
const maxNested = 32

// writeNode writes a value as JSON, with the keys of a group in the order of the schema.
func writeNode(b *bytes.Buffer, node parquet.Node, v any, depth int) error {
	if depth > maxNested {
		return fmt.Errorf("its groups are nested more than %d times", maxNested)
	}
	switch v := v.(type) {
	case []any:
		return writeList(b, elementOf(node), v, depth)
	case map[string]any:
		return writeGroup(b, node, v, depth)
	}
	return writeLeaf(b, v)
}

// elementOf is what a list is of: its group has one repeated group of one element.
func elementOf(node parquet.Node) parquet.Node {
	if fields := node.Fields(); !node.Repeated() && len(fields) == 1 && fields[0].Repeated() {
		inner := fields[0]
		if !inner.Leaf() && len(inner.Fields()) == 1 {
			return inner.Fields()[0]
		}
		return inner
	}
	return node
}

func writeList(b *bytes.Buffer, of parquet.Node, list []any, depth int) error {
	b.WriteByte('[')
	for i, x := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeNode(b, of, x, depth+1); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

func writeGroup(b *bytes.Buffer, node parquet.Node, group map[string]any, depth int) error {
	fields := node.Fields()
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeLeaf(b, f.Name()); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := writeNode(b, f, group[f.Name()], depth+1); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func writeLeaf(b *bytes.Buffer, v any) error {
	if raw, ok := v.([]byte); ok {
		v = string(raw)
	}
	out := json.NewEncoder(b)
	out.SetEscapeHTML(false)
	if err := out.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the line feed
	return nil
}
