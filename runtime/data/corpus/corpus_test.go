package corpus

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// FuzzRecords: no bytes of a file lead to more than an error.
func FuzzRecords(f *testing.F) {
	var p bytes.Buffer
	if err := parquet.Write(&p, []struct {
		Text string `parquet:"text"`
	}{{"a"}, {"b"}}); err != nil {
		f.Fatal(err)
	}
	f.Add(p.Bytes())
	f.Add([]byte("{\"text\": \"x\"}\n{\"text\": [1, 2]}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, do := Columns{Text: "text", Prompt: "prompt"}, func(Document) error { return nil }
		_ = readLines(bytes.NewReader(raw), c, do)
		_ = readParquet(bytes.NewReader(raw), int64(len(raw)), c, do)
		_ = readParquet(bytes.NewReader(raw), int64(len(raw)), Columns{Record: true}, do)
	})
}
