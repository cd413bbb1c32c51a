package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"ptc/runtime/checkpoint/safetensors"
)

// Slice is a box of a global tensor; the zero Slice is all of it.
type Slice = safetensors.Slice

// Tensor describes a global tensor.
type Tensor struct {
	Name  string // path of a parameter, or of its state: path/state
	DType safetensors.DType
	Shape []int64
	Axes  []string // their names, one for each axis
}

// Meta says what a checkpoint is of. A run that resumes compares the hashes.
type Meta struct {
	Step   int64  // steps that are done
	Seed   uint64 // of the run
	Model  string // hash of the model's mathematics
	Source string // hash of the source text
	Data   string // fingerprint of the data
}

// formatVersion is raised when a manifest is no longer read by older programs.
const formatVersion = 1

// manifest is manifest.json.
type manifest struct {
	Format  int              `json:"format"`
	Step    int64            `json:"step"`
	Seed    uint64           `json:"seed"`
	Model   string           `json:"model_hash"`
	Source  string           `json:"source_hash"`
	Data    string           `json:"data_fingerprint"`
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
	File  string   `json:"file"`
	DType string   `json:"dtype"`
	Shape []int64  `json:"shape"`
	Axes  []string `json:"axes"`
}

const (
	modelFile     = "model.safetensors"
	optimizerFile = "optimizer.safetensors"
	manifestName  = "manifest.json"
	maxManifest   = 256 << 20
)

// dataFiles are the files of every checkpoint, with or without tensors in them.
var dataFiles = [...]string{modelFile, optimizerFile}

// fileOf says where a tensor is: a path never has a slash, a state always.
func fileOf(name string) string {
	if strings.Contains(name, "/") {
		return optimizerFile
	}
	return modelFile
}

// encode gives the bytes of manifest.json, tensors in order of name.
func (m *manifest) encode() ([]byte, error) {
	b, err := json.MarshalIndent(m, "", " ")
	return append(b, '\n'), err
}

func newManifest(meta Meta, tensors []Tensor) *manifest {
	m := &manifest{Format: formatVersion, Step: meta.Step, Seed: meta.Seed,
		Model: meta.Model, Source: meta.Source, Data: meta.Data, Tensors: []manifestTensor{}}
	for _, t := range tensors {
		m.Tensors = append(m.Tensors, manifestTensor{Name: t.Name, File: fileOf(t.Name), DType: t.DType.String(),
			Shape: append([]int64{}, t.Shape...), Axes: append([]string{}, t.Axes...)})
	}
	slices.SortFunc(m.Tensors, func(a, b manifestTensor) int { return strings.Compare(a.Name, b.Name) })
	return m
}

func (m *manifest) meta() Meta {
	return Meta{Step: m.Step, Seed: m.Seed, Model: m.Model, Source: m.Source, Data: m.Data}
}

func readManifest(path string) (*manifest, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxManifest {
		return nil, fmt.Errorf("%s is no file of at most %d bytes", manifestName, maxManifest)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return decodeManifest(text)
}

// decodeManifest checks the form; that the files have the tensors is up to Load.
func decodeManifest(text []byte) (*manifest, error) {
	m := &manifest{}
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(m); err != nil {
		return nil, fmt.Errorf("%s is not valid: %w", manifestName, err)
	}
	if m.Format != formatVersion {
		return nil, fmt.Errorf("%s has format %d, this program reads %d", manifestName, m.Format, formatVersion)
	}
	if m.Step < 0 || len(m.Files) != len(dataFiles) {
		return nil, fmt.Errorf("%s has step %d and %d files, which no checkpoint has", manifestName, m.Step, len(m.Files))
	}
	for i, f := range m.Files {
		if f.Name != dataFiles[i] { // a name is joined to a path, so any other is refused
			return nil, fmt.Errorf("%s names the file %q where %s belongs", manifestName, f.Name, dataFiles[i])
		}
	}
	for i, t := range m.Tensors {
		if i > 0 && m.Tensors[i-1].Name >= t.Name {
			return nil, fmt.Errorf("%s lists %q twice or out of order", manifestName, t.Name)
		}
		if t.File != fileOf(t.Name) || len(t.Axes) != len(t.Shape) {
			return nil, fmt.Errorf("%s has a wrong file or number of axes for %q", manifestName, t.Name)
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
