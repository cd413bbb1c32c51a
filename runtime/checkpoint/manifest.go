package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"ptc/runtime/checkpoint/safetensors"
)

// Slice is a box of a global tensor; the zero Slice is all of it.
type Slice = safetensors.Slice

// Tensor describes a global tensor.
type Tensor struct {
	safetensors.Tensor          // its name is the path of a parameter, or of its state: path/state
	Axes               []string // their names, one for each axis
}

// Meta says what a checkpoint is of. A run that resumes compares the hashes.
type Meta struct {
	Step   int64    `json:"step"`             // steps that are done
	Seed   uint64   `json:"seed"`             // of the run
	Loss   *float64 `json:"loss,omitempty"`   // of the last of those steps; nil: not known
	Model  string   `json:"model_hash"`       // of the model's mathematics
	Source string   `json:"source_hash"`      // of the source text
	Data   string   `json:"data_fingerprint"` // of the data
	// Valid is the validation loss after them; nil: it was not measured before the save.
	Valid *float64 `json:"validation_loss,omitempty"`
	// Phases say what the steps were fed, from the first one on. None: of a program that did not
	// say, or before the first step.
	Phases []Phase `json:"phases,omitempty"`
	// Settings are the values of the plan's ports, such as a learning rate.
	Settings []Setting `json:"settings,omitempty"`
	// Patience is how long validation has got no better; nil where the run does not end by it.
	Patience *Patience `json:"patience,omitempty"`
}

// Patience is the state of what ends a run early.
type Patience struct {
	Best  *float64 `json:"best,omitempty"` // so far
	Since int64    `json:"since"`          // validations that were not better than that
	Step  int64    `json:"step"`           // after which the last one was
}

// Setting is the value of a port of the plan.
type Setting struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// formatVersion is raised when a manifest is no longer read by older programs.
// Format 1 had neither a hash of itself nor a sequence number: such a checkpoint
// is read, with a warning, and is older than every one that has a number. Format 2 did
// not say how many examples a run was fed: who does not read that would feed some twice.
// Format 4 is of checkpoints in parts, and of no others, so that those of one process are read
// by whoever reads format 3.
const (
	formatVersion  = 4
	formatParts    = 4
	formatPhases   = 3
	formatNoPhases = 2
	formatNoHash   = 1
)

// manifest is manifest.json.
type manifest struct {
	Format   int    `json:"format"`
	SHA256   string `json:"manifest_sha256,omitempty"` // of the whole text, with "" in this place
	Sequence int64  `json:"sequence,omitempty"`        // counts the saves into a folder, from 1
	Meta
	Parts   int              `json:"parts,omitempty"` // each with a file of either kind; 0: one file, which is no part
	Files   []manifestFile   `json:"files"`
	Tensors []manifestTensor `json:"tensors"`
}

type manifestFile struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

type manifestTensor struct {
	Name  string   `json:"name"`
	File  string   `json:"file,omitempty"` // that has all of it; of a checkpoint in parts none
	DType string   `json:"dtype"`
	Shape []int64  `json:"shape"`
	Axes  []string `json:"axes"`
	grid
}

const (
	modelFile     = "model.safetensors"
	optimizerFile = "optimizer.safetensors"
	manifestName  = "manifest.json"
	maxManifest   = 256 << 20
)

// dataFiles are the files of every checkpoint that is in no parts, with or without tensors in them; of one in
// parts, those of each part have a number in their names.
var dataFiles = [...]string{modelFile, optimizerFile}

// fileOf says where a tensor is: a path never has a slash, a state always.
func fileOf(name string) string {
	if strings.Contains(name, "/") {
		return optimizerFile
	}
	return modelFile
}

// hashKey is what stands before the manifest's own hash. No string in a manifest
// has it, since a quote in a string is escaped.
const hashKey = `"manifest_sha256": "`

// encode gives the bytes of manifest.json, tensors in order of name, and puts
// the hash in.
func (m *manifest) encode() ([]byte, error) {
	m.Format, m.SHA256 = formatPhases, noHash
	if m.Parts > 0 {
		m.Format = formatParts
	}
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	m.SHA256 = hashOf(text, noHash)
	return bytes.Replace(text, []byte(hashKey+noHash), []byte(hashKey+m.SHA256), 1), nil
}

// noHash holds the place of the hash until it is known.
const noHash = "-"

// hashOf is the SHA-256, in hexadecimal, of a manifest in which "" stands in the
// place of its own hash.
func hashOf(text []byte, own string) string {
	sum := sha256.Sum256(bytes.Replace(text, []byte(hashKey+own+`"`), []byte(hashKey+`"`), 1))
	return hex.EncodeToString(sum[:])
}

func newManifest(meta Meta, tensors []Tensor) *manifest {
	m := &manifest{Format: formatPhases, Meta: meta, Tensors: []manifestTensor{}}
	for _, t := range tensors {
		m.Tensors = append(m.Tensors, manifestTensor{Name: t.Name, File: fileOf(t.Name), DType: t.DType.Safetensors(),
			Shape: append([]int64{}, t.Shape...), Axes: append([]string{}, t.Axes...)})
	}
	slices.SortFunc(m.Tensors, func(a, b manifestTensor) int { return strings.Compare(a.Name, b.Name) })
	return m
}

// readManifest reads the manifest of an open folder.
func readManifest(dir folder) (*manifest, error) {
	f, err := dir.open(manifestName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() > maxManifest {
		return nil, fmt.Errorf("%s is longer than %d bytes", manifestName, maxManifest)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxManifest))
	if err != nil {
		return nil, err
	}
	return decodeManifest(text)
}

// decodeManifest checks the hash and the form; that the files have the tensors
// is up to Load.
func decodeManifest(text []byte) (*manifest, error) {
	m := &manifest{}
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(m); err != nil {
		return nil, fmt.Errorf("%s is not valid: %w", manifestName, err)
	}
	switch {
	case m.Format < formatNoHash || m.Format > formatVersion:
		return nil, fmt.Errorf("%s has format %d, this program reads %d to %d", manifestName, m.Format, formatNoHash, formatVersion)
	case m.Format == formatNoHash && (m.SHA256 != "" || m.Sequence != 0):
		return nil, fmt.Errorf("%s has format %d, and what only format %d has", manifestName, m.Format, formatNoPhases)
	case m.Format > formatNoHash && m.SHA256 != hashOf(text, m.SHA256):
		return nil, fmt.Errorf("%s is not what was saved: its SHA-256 differs", manifestName)
	case m.Format > formatNoHash && m.Sequence < 1:
		return nil, fmt.Errorf("%s has the sequence number %d, and the first is 1", manifestName, m.Sequence)
	}
	if m.Step < 0 {
		return nil, fmt.Errorf("%s has step %d, which no checkpoint has", manifestName, m.Step)
	}
	if err := m.checkPhases(); err != nil {
		return nil, err
	}
	if err := m.checkFiles(); err != nil {
		return nil, err
	}
	for i, t := range m.Tensors {
		if i > 0 && m.Tensors[i-1].Name >= t.Name {
			return nil, fmt.Errorf("%s lists %q twice or out of order", manifestName, t.Name)
		}
		if err := m.checkTensor(&t); err != nil {
			return nil, fmt.Errorf("%s has a wrong place of %q: %w", manifestName, t.Name, err)
		}
	}
	return m, nil
}

// Error says which checkpoint cannot be read or written, and why.
type Error struct {
	Dir string
	Msg string
	Err error
}

func (e *Error) Error() string {
	s := "checkpoint " + e.Dir + ": " + e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
