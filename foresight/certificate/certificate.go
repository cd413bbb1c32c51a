package certificate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Version is that of the form.
const Version = 1

// Most is the largest certificate that is read, in bytes.
const Most = 8 << 20

// Certificate says why a layout is the best of its space.
type Certificate struct {
	Version int    `json:"version"`
	Ptc     string `json:"ptc"`
	Source  string `json:"source_sha256"`
	// Imports are the files that the source imports, directly or through others, sorted by path. Files of the standard library
	// are not among them: they belong to the version of ptc.
	Imports []Import    `json:"imports,omitempty"`
	Config  [][2]string `json:"config"`
	Layout  string      `json:"layout"`
	Machine Machine     `json:"machine"`
	Memory  int64       `json:"memory"` // bytes that a layout may take on a device
	// Slack is what bounds are multiplied by, in thousandths: 1000 unless a layout took less than its bound without it.
	Slack      int64    `json:"slack"`
	Objectives []string `json:"objectives"`
	Dimensions []string `json:"dimensions"`
	Tables     []Table  `json:"tables"`
	// Winner is the number of the best leaf, −1 if no layout fits.
	Winner int    `json:"winner"`
	Leaves []Leaf `json:"leaves"`
}

// Import is a file that the source imports.
type Import struct {
	Path   string `json:"path"` // from the folder of the source
	SHA256 string `json:"sha256"`
}

// Machine is the cluster.
type Machine struct {
	Name   string `json:"name"`
	Levels []int  `json:"levels"` // outermost first
	SHA256 string `json:"sha256"`
}

// Table is what a block takes under the first dimensions of a path, by a probe of its own.
type Table struct {
	At        string `json:"at"`
	Forward   int64  `json:"forward"` // ps
	Backward  int64  `json:"backward"`
	Exchanges int64  `json:"exchanges"`         // ps, of all collectives
	Ends      int64  `json:"ends"`              // ps, of the products outside of the blocks
	Kept      int64  `json:"kept"`              // bytes, of a microbatch
	Shared    int64  `json:"shared"`            // bytes, of all microbatches
	Illegal   string `json:"illegal,omitempty"` // code of the error; the numbers are 0 then
}

// Why is the reason of a leaf.
type Why string

// The reasons.
const (
	Illegal Why = "illegal" // the compiler refuses the layout: Code
	Over    Why = "over"    // it takes at least Bytes, more than there is
	Bound   Why = "bound"   // it takes at least Bound, longer than the winner
	Exact   Why = "exact"   // it was compiled and simulated: PS and Bytes
)

// Leaf is a branch that the search did not divide further. By says what its numbers are from.
type Leaf struct {
	At    string `json:"at"` // its path, one word for each dimension decided
	Why   Why    `json:"why"`
	By    By     `json:"by"`
	Code  string `json:"code,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	Bound int64  `json:"bound,omitempty"` // ps
	PS    int64  `json:"ps,omitempty"`
}

// By is what the numbers of a leaf are from.
type By string

// The sources of a leaf's numbers.
const (
	Facts    By = "facts"  // the model alone
	Rows     By = "rows"   // the table of its block with more rows in a microbatch and nothing rematerialized
	OneTable By = "table"  // the table of its block
	Tables   By = "tables" // that, and the table with sharded parameters
	Probe    By = "probe"  // the layout itself
)

// Encode is a certificate as a file: a line for each leaf.
func (c *Certificate) Encode() []byte {
	head := *c
	head.Leaves = nil
	text, err := json.Marshal(&head)
	if err != nil {
		panic(err) // strings and numbers
	}
	var out bytes.Buffer
	out.Write(bytes.TrimSuffix(text, []byte("null}")))
	out.WriteString("[\n")
	for i := range c.Leaves {
		line, err := json.Marshal(&c.Leaves[i])
		if err != nil {
			panic(err)
		}
		out.Write(line)
		if i < len(c.Leaves)-1 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
	}
	out.WriteString("]}\n")
	return out.Bytes()
}

// Decode reads a certificate, in any form of JSON. It says nothing about whether it is true.
func Decode(text []byte) (*Certificate, error) {
	if len(text) > Most {
		return nil, fmt.Errorf("a certificate has at most %d bytes; this one has %d", Most, len(text))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	c := &Certificate{}
	if err := d.Decode(c); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, errors.New("the certificate ends early: it is not whole")
		}
		return nil, fmt.Errorf("this is no certificate: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the certificate in its file")
	}
	if c.Version != Version {
		return nil, fmt.Errorf("the certificate has version %d; this ptc reads version %d", c.Version, Version)
	}
	return c, nil
}
