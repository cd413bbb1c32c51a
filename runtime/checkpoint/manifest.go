package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

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

type manifestTensor struct {
	Name  string   `json:"name"`
	File  string   `json:"file,omitempty"` // that has all of it; of a checkpoint in parts none
	DType string   `json:"dtype"`
	Shape []int64  `json:"shape"`
	Axes  []string `json:"axes"`
	grid
}

const (
	manifestName = "manifest.json"
	maxManifest  = 256 << 20 // bytes
)

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
		return nil, fmt.Errorf("%s has format %d, but this ptc reads formats %d to %d", manifestName, m.Format, formatNoHash, formatVersion)
	case m.Format == formatNoHash && (m.SHA256 != "" || m.Sequence != 0):
		return nil, fmt.Errorf("%s has format %d, but entries that only format %d has", manifestName, m.Format, formatNoPhases)
	case m.Format > formatNoHash && m.SHA256 != hashOf(text, m.SHA256):
		return nil, fmt.Errorf("%s has changed since it was saved: its SHA-256 differs", manifestName)
	case m.Format > formatNoHash && m.Sequence < 1:
		return nil, fmt.Errorf("%s has the sequence number %d, but the first is 1", manifestName, m.Sequence)
	}
	if m.Step < 0 {
		return nil, fmt.Errorf("%s has step %d, which is not the number of a step", manifestName, m.Step)
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
			return nil, fmt.Errorf("%s has a wrong place for %q: %w", manifestName, t.Name, err)
		}
	}
	return m, nil
}

// maxExamples bounds the examples of a run, so that sums of them are numbers.
const maxExamples = 1 << 60

// checkPhases holds the phases of a manifest to its step: each begins behind the one before,
// and has as many examples as its steps.
func (m *manifest) checkPhases() error {
	if len(m.Phases) > 0 && m.Format < formatPhases {
		return fmt.Errorf("%s has format %d, but entries that only format %d has", manifestName, m.Format, formatPhases)
	}
	first, all := int64(1), int64(0)
	for i, p := range m.Phases {
		end := m.Step
		if i+1 < len(m.Phases) {
			end = m.Phases[i+1].First - 1
		}
		steps := end - p.First + 1
		if p.First != first || steps < 1 || p.Batch < 1 || p.Batch > maxExamples/steps || p.Examples != steps*p.Batch || p.Examples > maxExamples-all {
			return fmt.Errorf("%s has a phase of %d examples that starts with step %d, in batches of %d, but the phase ends with step %d", manifestName, p.Examples, p.First, p.Batch, end)
		}
		first, all = end+1, all+p.Examples
		given := int64(0)
		for _, s := range p.Sources {
			if s.Examples < 0 || s.Examples > p.Examples-given {
				return fmt.Errorf("%s has a source with %d of the %d examples of its phase", manifestName, s.Examples, p.Examples)
			}
			given += s.Examples
		}
		if len(p.Sources) > 0 && given != p.Examples {
			return fmt.Errorf("%s has sources with %d of the %d examples of their phase", manifestName, given, p.Examples)
		}
	}
	return nil
}

// maxParts is the most parts of a checkpoint, as their numbers have five digits.
const maxParts = 99_999

// maxElems bounds the elements of a tensor, so that its bytes are a number.
const maxElems = 1 << 56

// checkFiles holds the files to the number of parts. A name is joined to a path, so any other is refused.
func (m *manifest) checkFiles() error {
	switch {
	case m.Parts < 0 || m.Parts > maxParts:
		return fmt.Errorf("%s has %d parts, which is not possible", manifestName, m.Parts)
	case m.Parts > 0 != (m.Format >= formatParts):
		return fmt.Errorf("%s has format %d and %d parts, but only format %d has parts", manifestName, m.Format, m.Parts, formatParts)
	case len(m.Files) != max(1, m.Parts)*len(dataFiles):
		return fmt.Errorf("%s has %d files and %d parts, which do not match", manifestName, len(m.Files), m.Parts)
	}
	for at := 0; at < len(m.Files); at += len(dataFiles) {
		part := 0
		if m.Parts > 0 {
			part = at/len(dataFiles) + 1
		}
		for i, want := range partFiles(part, m.Parts) {
			if f := m.Files[at+i]; f.Name != want {
				return fmt.Errorf("%s names the file %q instead of %s", manifestName, f.Name, want)
			}
		}
	}
	return nil
}

// checkTensor holds a tensor to where it has to be.
func (m *manifest) checkTensor(t *manifestTensor) error {
	if len(t.Axes) != len(t.Shape) {
		return errors.New("it does not have as many axes as sizes")
	}
	if m.Parts == 0 {
		if t.File != fileOf(t.Name) || len(t.Starts)+len(t.grid.Parts) > 0 {
			return fmt.Errorf("it belongs in %s", fileOf(t.Name))
		}
		return nil
	}
	if t.File != "" {
		return errors.New("it names a file, but the checkpoint is in parts")
	}
	elems := int64(1)
	for _, n := range t.Shape {
		if n < 0 || n > maxElems || elems > maxElems/max(1, n) {
			return fmt.Errorf("its shape is %v", t.Shape)
		}
		elems *= n
	}
	return t.grid.check(t.Shape, m.Parts)
}

// divide puts the slices of a division into the manifest, whose tensors are in order of name.
func (m *manifest) divide(d *Division) {
	m.Parts = d.parts
	at := map[string]int{}
	for i := range d.tensors {
		at[d.tensors[i].Name] = i
	}
	for i := range m.Tensors {
		t := &m.Tensors[i]
		t.File, t.grid = "", d.grids[at[t.Name]]
	}
}
