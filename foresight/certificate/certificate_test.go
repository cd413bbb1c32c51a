package certificate

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func example() *Certificate {
	return &Certificate{Version: Version, Ptc: "1", Source: "ab", Config: [][2]string{{"layers", "4"}}, Layout: "best", Memory: 100, Slack: 1000,
		Machine: Machine{"h100", []int{2, 8}, "cd"}, Objectives: []string{"step_time"}, Dimensions: []string{"devices", "mesh"},
		Tables: []Table{{At: "a", Forward: 1, Backward: 2, Kept: 3}}, Winner: 1,
		Leaves: []Leaf{{At: "16/a", Why: Over, By: Facts, Bytes: 200}, {At: "16/b", Why: Exact, By: Probe, PS: 7, Bytes: 50}}}
}

// TestRoundTrip: what is written is read again, in this form or in another one of JSON.
func TestRoundTrip(t *testing.T) {
	text := example().Encode()
	c, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Encode(); !bytes.Equal(got, text) {
		t.Errorf("%s\n%s", text, got)
	}
	other, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if c, err = Decode(other); err != nil || !bytes.Equal(c.Encode(), text) {
		t.Errorf("indented: %v", err)
	}
	if n := bytes.Count(text, []byte("\n")); n != 4 {
		t.Errorf("%d lines for 2 leaves:\n%s", n, text)
	}
}

// TestRefused: what is no certificate is refused for its reason.
func TestRefused(t *testing.T) {
	text := string(example().Encode())
	for name, x := range map[string]struct{ text, want string }{
		"nothing":  {"", "it is not whole"},
		"cut":      {text[:len(text)/2], "it is not whole"},
		"more":     {text + "{}", "something follows"},
		"version":  {strings.Replace(text, `"version":1`, `"version":9`, 1), "has version 9"},
		"field":    {strings.Replace(text, `"winner"`, `"champion"`, 1), "this is no certificate"},
		"number":   {strings.Replace(text, `"ps":7`, `"ps":7.5`, 1), "this is no certificate"},
		"overflow": {strings.Replace(text, `"ps":7`, `"ps":99999999999999999999`, 1), "this is no certificate"},
		"large":    {strings.Repeat(" ", Most+1), "at most"},
		"text":     {"hello", "this is no certificate"},
	} {
		if _, err := Decode([]byte(x.text)); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: the error is %v; want %s", name, err, x.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(example().Encode())
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := Decode(text); err == nil {
			if again, err := Decode(c.Encode()); err != nil || !bytes.Equal(again.Encode(), c.Encode()) {
				t.Errorf("what was read is not read again: %v", err)
			}
		}
	})
}
