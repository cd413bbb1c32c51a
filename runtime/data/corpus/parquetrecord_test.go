package corpus

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

type said struct {
	Role    string  `parquet:"role"`
	Content *string `parquet:"content,optional"`
}

type talk struct {
	ID       int64    `parquet:"id"`
	Messages []said   `parquet:"messages,list"`
	Tags     []string `parquet:"tags,list"`
	Score    *float64 `parquet:"score,optional"`
}

// TestParquetRecords: a row is an object of JSON, with lists, groups and nulls.
func TestParquetRecords(t *testing.T) {
	hi, half := "hi <b>", 0.5
	var b bytes.Buffer
	if err := parquet.Write(&b, []talk{
		{1, []said{{"user", &hi}, {"assistant", nil}}, []string{"a", "b"}, &half},
		{2, []said{{"user", &hi}}, nil, nil},
	}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := Read(path, Columns{Record: true}, func(d Document) error {
		got = append(got, d.Place+" "+string(d.Record))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{
		`row 0 {"id":1,"messages":[{"role":"user","content":"hi <b>"},{"role":"assistant","content":null}],"tags":["a","b"],"score":0.5}`,
		`row 1 {"id":2,"messages":[{"role":"user","content":"hi <b>"}],"tags":[],"score":null}`,
	}, got); d != "" {
		t.Error(d)
	}
}
