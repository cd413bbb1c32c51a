package protocol

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestFrames(t *testing.T) {
	var b bytes.Buffer
	for _, v := range []any{map[string]any{"a": "ö"}, 7} {
		if err := (Codec{}).WriteObject(&b, v); err != nil {
			t.Fatal(err)
		}
	}
	if want := "Content-Length: 10\r\n\r\n{\"a\":\"ö\"}Content-Length: 1\r\n\r\n7"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	r := bufio.NewReader(&b)
	var m map[string]string
	var n int
	if err := (Codec{}).ReadObject(r, &m); err != nil || m["a"] != "ö" {
		t.Errorf("%v, %v", m, err)
	}
	if err := (Codec{}).ReadObject(r, &n); err != nil || n != 7 {
		t.Errorf("%d, %v", n, err)
	}
	if err := (Codec{}).ReadObject(r, &n); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestBrokenFrames(t *testing.T) {
	for in, want := range map[string]string{
		"Content-Length: 3\r\n\r\n12":            "unexpected EOF",
		"Content-Length: 3":                      "unexpected EOF",
		"Content-Type: x\r\n\r\n{}":              "without Content-Length",
		"Content-Length: -1\r\n\r\n":             "Content-Length is",
		"Content-Length: 99999999999\r\n\r\n":    "Content-Length is",
		"Content-Length: 2\r\n\r\n{]":            "invalid character",
		strings.Repeat("X-More: 1\r\n", 1000):    "headers of more than",
		strings.Repeat("x", 8000) + "\r\n\r\n{}": "headers of more than",
	} {
		var v any
		if err := (Codec{}).ReadObject(bufio.NewReader(strings.NewReader(in)), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", in, err, want)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("content-length: 2\r\nContent-Type: x\r\n\r\n{}Content-Length: 1\n\n7"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bufio.NewReader(bytes.NewReader(in))
		for {
			var v any
			if (Codec{}).ReadObject(r, &v) != nil {
				return
			}
			if _, err := json.Marshal(v); err != nil {
				t.Fatal(err)
			}
		}
	})
}
