package corpus

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"ptc/internal/units"
	"ptc/runtime/storage"
)

// MaxDocument bounds a document, which is in memory as a whole.
const MaxDocument = 1 << 30

// maxWindow bounds what a stranger's compressed file makes the decoder keep.
const maxWindow = 512 << 20

// Document is one of a file's: text, or tokens. Prompt is what comes before the
// text where a record has two columns.
type Document struct {
	Prompt, Text []byte
	Tokens       []int32
	Record       []byte // all of it as an object of JSON, where that is asked for
	Place        string // of the record in the file
}

// Columns are the names of what is read of a record.
type Columns struct {
	Text   string // "text" if empty
	Prompt string // none if empty
	Record bool   // all columns, and neither text nor prompt
}

// Structured says whether a name is that of a file of records.
func Structured(name string) bool {
	switch format(name) {
	case ".jsonl", ".ndjson", ".parquet":
		return true
	}
	return false
}

// Compressed says whether a name is that of a compressed stream.
func Compressed(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".zst")
}

// format is the ending of a name without that of a compressed stream.
func format(name string) string {
	name = strings.ToLower(name)
	return filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst"))
}

// Read calls do for every document of the file, in order, until one fails.
func Read(path string, c Columns, do func(Document) error) error {
	if c.Text == "" {
		c.Text = "text"
	}
	f, err := storage.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if format(path) == ".parquet" {
		if Compressed(path) {
			return errors.New("a parquet file is compressed inside; decompress the file")
		}
		return readParquet(f, f.Size(), c, do)
	}
	r, done, err := Decompress(f, path, f.Size())
	if err != nil {
		return err
	}
	defer done()
	if Structured(path) {
		return readLines(r, c, do)
	}
	if c.Record {
		return errors.New("it is not a file of records: JSON lines (.jsonl) or parquet")
	}
	text, err := io.ReadAll(io.LimitReader(r, MaxDocument+1))
	if err != nil {
		return err
	}
	if len(text) > MaxDocument {
		return fmt.Errorf("the text is longer than %s, the limit for a document; split the file", units.Bytes(MaxDocument))
	}
	if err := CheckText(text); err != nil {
		return err
	}
	return do(Document{Text: text})
}

// maxNul is the share of NUL bytes above which a file is not text. Compressed
// and encrypted files have 1 in 256, UTF-16 text has about 1 in 2.
const maxNul = 1.0 / 1000

// CheckText says that the bytes of a file are no text.
func CheckText(text []byte) error {
	if nul := bytes.Count(text, []byte{0}); float64(nul) > maxNul*float64(len(text)) {
		return fmt.Errorf("this is a binary file: %d of its %d bytes are NUL", nul, len(text))
	}
	return nil
}

// What a compressed stream may become: some bytes, and so many times its size. Text in use becomes 3 to 30 times
// as long, a file that was made to fill the memory of who reads it a thousand times and more.
const (
	maxRatio   = 256
	plainBytes = 64 << 20
)

// Decompress reads a stream of size bytes by the ending of its name.
func Decompress(r io.Reader, name string, size int64) (out io.Reader, done func(), err error) {
	plain, done, err := decompress(r, name)
	if err != nil || plain == r {
		return plain, done, err
	}
	return &bounded{plain, plainBytes + min(size, math.MaxInt64/maxRatio/2)*maxRatio}, done, nil
}

// bounded reads at most so many bytes.
type bounded struct {
	io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("it expands to more than %d times its size plus %s, which is the limit; if that is intended, decompress the file first", maxRatio, units.Bytes(plainBytes))
	}
	return n, err
}

func decompress(r io.Reader, name string) (out io.Reader, done func(), err error) {
	switch name = strings.ToLower(name); {
	case strings.HasSuffix(name, ".gz"):
		z, err := gzip.NewReader(bufio.NewReaderSize(r, 1<<16))
		if err != nil {
			return nil, nil, fmt.Errorf("it is not a gzip stream: %w", err)
		}
		return z, func() { _ = z.Close() }, nil
	case strings.HasSuffix(name, ".zst"):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("it is not a zstd stream: %w", err)
		}
		return z, z.Close, nil
	}
	return r, func() {}, nil
}

// byteOrderMark is what some editors begin a file in UTF-8 with.
const byteOrderMark = "\ufeff"

// readLines reads a JSON object from every line that is not empty.
func readLines(r io.Reader, c Columns, do func(Document) error) error {
	in := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := readLine(in)
		if err != nil && err != io.EOF {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			d, bad := Document{Record: bytes.Clone(text), Place: fmt.Sprintf("line %d", n)}, error(nil)
			if !c.Record {
				d, bad = parseRecord(text, c)
			}
			if bad != nil {
				return fmt.Errorf("line %d: %w", n, bad)
			}
			if bad := do(d); bad != nil {
				return bad
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > MaxDocument {
			return nil, fmt.Errorf("it is longer than %s", units.Bytes(MaxDocument))
		}
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// parseRecord takes the columns out of a JSON object.
func parseRecord(line []byte, c Columns) (d Document, err error) {
	var record map[string]json.RawMessage
	var kind *json.UnmarshalTypeError
	switch err := json.Unmarshal(line, &record); {
	case errors.As(err, &kind):
		return d, fmt.Errorf("it is a JSON %s, not a JSON object", kind.Value)
	case err != nil:
		return d, fmt.Errorf("it is not a JSON object: %w", err)
	}
	raw, ok := record[c.Text]
	if !ok {
		return d, fmt.Errorf("it has no column %q", c.Text)
	}
	var text string
	switch raw[0] {
	case '"':
		if err := json.Unmarshal(raw, &text); err != nil {
			return d, fmt.Errorf("its column %q: %w", c.Text, err)
		}
		d.Text = []byte(text)
	case '[':
		if d.Tokens, err = tokensOf(raw); err != nil {
			return d, fmt.Errorf("its column %q: %w", c.Text, err)
		}
	case 'n': // null: a document without tokens
		d.Tokens = []int32{}
	default:
		return d, fmt.Errorf("its column %q is neither text nor a list of tokens", c.Text)
	}
	if c.Prompt != "" {
		var prompt string
		if raw, ok := record[c.Prompt]; !ok || json.Unmarshal(raw, &prompt) != nil {
			return d, fmt.Errorf("it has no text in the column %q", c.Prompt)
		}
		d.Prompt = []byte(prompt)
	}
	return d, nil
}

// tokensOf reads a list of whole numbers from 0 on.
func tokensOf(raw []byte) ([]int32, error) {
	var out []int32
	// Of a null among numbers the library would make a 0.
	if err := json.Unmarshal(raw, &out); err != nil || bytes.IndexByte(raw, 'n') >= 0 {
		return nil, fmt.Errorf("it is not a list of tokens, which are integers from 0 to %d", math.MaxInt32)
	}
	for _, id := range out {
		if id < 0 {
			return nil, fmt.Errorf("the token %d is out of range", id)
		}
	}
	return out, nil
}
