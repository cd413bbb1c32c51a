package checkpoint

import (
	"errors"
	"fmt"
	"strings"
)

// maxParts is the most parts of a checkpoint, as their numbers have five digits.
const maxParts = 99_999

// maxElems bounds the elements of a tensor, so that its bytes are a number.
const maxElems = 1 << 56

// partName is the name of a part's file: model-00003-of-00016.safetensors.
func partName(file string, part, parts int) string {
	return fmt.Sprintf("%s-%05d-of-%05d.safetensors", strings.TrimSuffix(file, ".safetensors"), part, parts)
}

// partFiles are the names of a part's files, in the order of dataFiles. Part 0 is a checkpoint that is in no
// parts.
func partFiles(part, parts int) [len(dataFiles)]string {
	names := dataFiles
	if part > 0 {
		for i, file := range dataFiles {
			names[i] = partName(file, part, parts)
		}
	}
	return names
}

// fileIndex is the place in the manifest of the file of a part that a tensor is in.
func fileIndex(tensor string, part int) int {
	i := max(0, part-1) * len(dataFiles)
	if fileOf(tensor) != dataFiles[0] {
		i++
	}
	return i
}

// checkFiles holds the files to the number of parts. A name is joined to a path, so any other is refused.
func (m *manifest) checkFiles() error {
	switch {
	case m.Parts < 0 || m.Parts > maxParts:
		return fmt.Errorf("%s has %d parts, which no checkpoint has", manifestName, m.Parts)
	case m.Parts > 0 != (m.Format >= formatParts):
		return fmt.Errorf("%s has format %d and %d parts, and only format %d has parts", manifestName, m.Format, m.Parts, formatParts)
	case len(m.Files) != max(1, m.Parts)*len(dataFiles):
		return fmt.Errorf("%s has %d files and %d parts, which no checkpoint has", manifestName, len(m.Files), m.Parts)
	}
	for at := 0; at < len(m.Files); at += len(dataFiles) {
		part := 0
		if m.Parts > 0 {
			part = at/len(dataFiles) + 1
		}
		for i, want := range partFiles(part, m.Parts) {
			if f := m.Files[at+i]; f.Name != want {
				return fmt.Errorf("%s names the file %q where %s belongs", manifestName, f.Name, want)
			}
		}
	}
	return nil
}

// checkTensor holds a tensor to where it has to be.
func (m *manifest) checkTensor(t *manifestTensor) error {
	if len(t.Axes) != len(t.Shape) {
		return errors.New("it has not as many axes as sizes")
	}
	if m.Parts == 0 {
		if t.File != fileOf(t.Name) || len(t.Starts)+len(t.grid.Parts) > 0 {
			return fmt.Errorf("%s is the file that has it", fileOf(t.Name))
		}
		return nil
	}
	if t.File != "" {
		return errors.New("it has a file, and the checkpoint is in parts")
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
