package protocol

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// MaxMessage bounds a message, in bytes: far above any source with its edits.
const MaxMessage = 64 << 20

// maxHeader bounds the lines before a message.
const maxHeader = 4 << 10

// Codec frames messages as the protocol's base does: lines of headers, of which
// Content-Length says how many bytes of JSON follow an empty line.
type Codec struct{}

// WriteObject writes one message.
func (Codec) WriteObject(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return err
}

// ReadObject reads one message.
func (Codec) ReadObject(r *bufio.Reader, v any) error {
	length, err := header(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(r, int64(length))) // grows as it comes
	if err != nil {
		return err
	}
	if len(body) < length {
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(body, v)
}

// header is the length of the message that follows.
func header(r *bufio.Reader) (length int, err error) {
	length = -1
	for read := 0; ; {
		line, err := r.ReadSlice('\n')
		if read += len(line); errors.Is(err, bufio.ErrBufferFull) || read > maxHeader {
			return 0, fmt.Errorf("headers of more than %d bytes", maxHeader)
		}
		if err != nil {
			if errors.Is(err, io.EOF) && read > 0 {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			break
		}
		key, value, _ := strings.Cut(text, ":")
		if !strings.EqualFold(strings.TrimSpace(key), "Content-Length") {
			continue
		}
		length, err = strconv.Atoi(strings.TrimSpace(value))
		if err != nil || length < 0 || length > MaxMessage {
			return 0, fmt.Errorf("Content-Length is %q, and a message has at most %d bytes", strings.TrimSpace(value), MaxMessage)
		}
	}
	if length < 0 {
		return 0, errors.New("a message without Content-Length")
	}
	return length, nil
}
