package corpus

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// documents are those of a file, and its error.
func documents(t *testing.T, name string, raw []byte, column string) (out []string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, raw, 0o666); err != nil {
		t.Fatal(err)
	}
	err = Read(path, Columns{Text: column}, func(d Document) error {
		if d.Tokens != nil {
			out = append(out, fmt.Sprint(d.Tokens))
		} else {
			out = append(out, fmt.Sprintf("%q", d.Text))
		}
		return nil
	})
	return out, err
}

func hold(t *testing.T, what string, got []string, err error, want string) {
	t.Helper()
	text := strings.Join(got, " ")
	if err != nil {
		text = err.Error()
	}
	if !strings.Contains(text, want) || err == nil && text != want {
		t.Errorf("%s: %s, want %s", what, text, want)
	}
}

// TestLines: a line is one document or an error, whatever it has.
func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		"\ufeff{\"text\": \"a\"}\r\n\n{\"text\": \"\"}": `"a" ""`,
		`{"text": null}` + "\n" + `{"text": []}`:        `[] []`,
		`{"text": [1, 2]}`:                              `[1 2]`,
		`{"text": [1, -2]}`:                             "line 1: its column \"text\": the token -2 is out of range",
		`{"text": [1, null]}`:                           "it is not a list of tokens",
		`{"text": [1, 2.5]}`:                            "it is not a list of tokens",
		`{"text": [1, 2147483648]}`:                     "it is not a list of tokens",
		`{"text": {"a": 1}}`:                            "neither text nor a list of tokens",
		`["text"]`:                                      "line 1: it is a JSON array, not a JSON object",
		`{"text": "a"}` + "\n\ufeff" + `{"text": "b"}`:  "line 2: it is not a JSON object",
		`{"text": "a"} {"text": "b"}`:                   "it is not a JSON object",
	} {
		got, err := documents(t, "a.jsonl", []byte(text), "")
		hold(t, text, got, err, want)
	}
}

// TestBinary: what is no text is no document, and a stream's name may have capitals.
func TestBinary(t *testing.T) {
	for name, want := range map[string]string{
		"a.txt":     "this is a binary file: 2 of its 4 bytes are NUL",
		"a.TXT.GZ":  "it is not a gzip stream",
		"a.txt.Zst": "magic number mismatch",
	} {
		got, err := documents(t, name, []byte("a\x00b\x00"), "")
		hold(t, name, got, err, want)
	}
}

type group struct {
	Text string  `parquet:"text"`
	Lang *string `parquet:"lang,optional"`
}

type inner struct {
	N []int64 `parquet:"n,list"`
}

type columns struct {
	Text   *string  `parquet:"text,optional"`
	List   []int32  `parquet:"list,list"`
	Words  []string `parquet:"words,list"`
	Lists  []inner  `parquet:"lists,list"`
	Meta   group    `parquet:"meta"`
	Score  float64  `parquet:"score"`
	Single int64    `parquet:"single"`
}

// TestColumns: a column of parquet is one text or one list of whole numbers for each row, and
// all else is an error, not a part of it.
func TestColumns(t *testing.T) {
	a := "a"
	rows := []columns{
		{Text: &a, List: []int32{1, 2}, Words: []string{"b", "c"}, Lists: []inner{{[]int64{1}}, {[]int64{2}}}, Meta: group{Text: "x"}, Single: 5},
		{Meta: group{Text: "y", Lang: &a}, Single: 6},
	}
	var file, empty bytes.Buffer
	if err := parquet.Write(&file, rows); err != nil {
		t.Fatal(err)
	}
	if err := parquet.Write(&empty, rows[:0]); err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]string{
		"text":      `"a" []`,
		"list":      "[1 2] []",
		"words":     "several texts or lists",
		"lists":     "several texts or lists",
		"meta":      `the column "meta" is a group; name one of meta.text, meta.lang`,
		"meta.text": `"x" "y"`,
		"score":     "has DOUBLE, but must have text or integers",
		"single":    "[5] [6]",
		"none":      "there is no column",
	} {
		got, err := documents(t, "a.parquet", file.Bytes(), column)
		hold(t, column, got, err, want)
	}
	got, err := documents(t, "a.parquet", empty.Bytes(), "")
	if d := cmp.Diff([]string(nil), got); d != "" || err != nil {
		t.Error("no rows:", err, d)
	}
}

// TestNullToken: a null in a list is an error, and a list that is null is a document without
// tokens.
func TestNullToken(t *testing.T) {
	schema := parquet.NewSchema("r", parquet.Group{"text": parquet.Optional(parquet.List(parquet.Optional(parquet.Int(64))))})
	one, null := parquet.ValueOf(int64(1)), parquet.NullValue()
	for want, row := range map[string]parquet.Row{
		"[1 1]":                              {one.Level(0, 3, 0), one.Level(1, 3, 0)},
		"row 0: a token of its list is null": {one.Level(0, 3, 0), null.Level(1, 2, 0)},
		"[]":                                 {null.Level(0, 0, 0)},
	} {
		var file bytes.Buffer
		w := parquet.NewWriter(&file, schema)
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := documents(t, "a.parquet", file.Bytes(), "")
		hold(t, want, got, err, want)
	}
}
